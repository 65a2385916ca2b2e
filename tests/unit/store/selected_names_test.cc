#include "zarrcore/store/selected_names.h"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <set>
#include <string>

#include "tests/unit/support/fake_store.h"

namespace zarrfs::selected_names_test {
namespace {

using Names = std::set<std::string>;

struct Fixture {
  explicit Fixture(NamePatterns patterns) {
    for (const char* key : {"zarr.json", "a.zarr/zarr.json", "b.zarr/zarr.json", "b.zarr/x/1",
                            "scratch/a.zarr/zarr.json", "c.tmp"}) {
      fake->Put(key, "0123");
    }
    store = SelectNames(fake, std::move(patterns));
  }
  Names List(std::string_view folder) const {
    Names names;
    const auto entries = store->List(folder);
    EXPECT_TRUE(entries) << entries.error().message;
    for (const ListEntry& entry : *entries) names.insert(entry.name);
    return names;
  }

  std::shared_ptr<FakeStore> fake = std::make_shared<FakeStore>();
  std::shared_ptr<const Store> store;
};

TEST(SelectedNamesTest, WhatIsHiddenIsAbsentWithEverythingBelow) {
  const Fixture fixture({.show = {}, .hide = {"scratch", "*.tmp", "b*"}});
  EXPECT_EQ(fixture.List(""), (Names{"zarr.json", "a.zarr"}));
  std::array<std::byte, 4> bytes{};
  for (const char* key : {"c.tmp", "scratch", "scratch/a.zarr/zarr.json", "b.zarr/x/1"}) {
    EXPECT_EQ(fixture.store->Stat(key).error().code, ErrorCode::kNotFound) << key;
    EXPECT_EQ(fixture.store->Read(key, ByteRange::At(0, 4), bytes).error().code,
              ErrorCode::kNotFound)
        << key;
  }
  EXPECT_EQ(fixture.store->OpenFolder("b.zarr/x").error().code, ErrorCode::kNotFound);
  EXPECT_TRUE(fixture.store->Read("a.zarr/zarr.json", ByteRange::At(0, 4), bytes));
}

TEST(SelectedNamesTest, PatternsAreForTheRootAlone) {
  const Fixture fixture({.show = {"?.zarr", "scratch"}, .hide = {"a.*", "x"}});
  EXPECT_EQ(fixture.List(""), (Names{"zarr.json", "b.zarr", "scratch"}));
  EXPECT_EQ(fixture.List("scratch"), Names{"a.zarr"});
  EXPECT_EQ(fixture.List("b.zarr"), (Names{"zarr.json", "x"}));
  EXPECT_TRUE(fixture.store->Stat("b.zarr/x/1"));
}

TEST(SelectedNamesTest, DocumentsOfTheRootAreAlwaysThere) {
  const Fixture fixture({.show = {"none"}, .hide = {"*"}});
  EXPECT_EQ(fixture.List(""), Names{"zarr.json"});
  EXPECT_TRUE(fixture.store->Stat(""));
  EXPECT_TRUE(fixture.store->Stat("zarr.json"));
}

TEST(SelectedNamesTest, PatternsAreSeparatedByColons) {
  using Patterns = std::vector<std::string>;
  EXPECT_EQ(ParsePatterns("*.tmp:[ab]?"), (Patterns{"*.tmp", "[ab]?"}));
  for (const char* text : {"", "a:", ":a", "a::b", "a/b"}) {
    EXPECT_EQ(ParsePatterns(text), std::nullopt) << text;
  }
  EXPECT_EQ(ParsePatterns(std::string("a\0b", 3)), std::nullopt);
  EXPECT_EQ(ParsePatterns(std::string(256, 'a')), std::nullopt);
}

TEST(SelectedNamesTest, WithoutPatternsTheStoreStaysAsItIs) {
  const auto fake = std::make_shared<FakeStore>();
  EXPECT_EQ(SelectNames(fake, {}), fake);
}

}  // namespace
}  // namespace zarrfs::selected_names_test
