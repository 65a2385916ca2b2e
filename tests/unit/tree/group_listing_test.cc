// Listings of groups: which names they have, and what they ask of the store.

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>

#include "fs/tree/tree.h"
#include "tests/unit/array/array_testing.h"
#include "tests/unit/support/fake_store.h"

namespace zarrfs::group_listing_test {
namespace {

using Call = FakeStore::Call;
using Names = std::set<std::string>;

constexpr std::string_view kGroup = R"({"zarr_format": 3, "node_type": "group"})";

std::string Array() { return ArrayText("[4]", "[4]", Sharding("[2]", kBytesCodec)); }

struct Fixture {
  explicit Fixture(const std::string& view) {
    store->Put("zarr.json", kGroup);
    store->SetCountsChanges(true);
    TreeOptions options;
    options.view = view;
    options.node_cache = 1;
    tree = *Tree::Open(store, options);
  }

  // The names of the root, `room` at a time; of the first reply only.
  Names First(size_t room) {
    Names names;
    uint64_t cookie = 0;
    const auto opened = tree->OpenFolder(kRootId);
    EXPECT_TRUE(opened);
    if (opened) ListSome(*opened->folder, cookie, room, names);
    return names;
  }
  Names All() {
    Names names;
    uint64_t cookie = 0;
    const auto opened = tree->OpenFolder(kRootId);
    EXPECT_TRUE(opened);
    while (opened && ListSome(*opened->folder, cookie, 10, names) > 0) {
    }
    return names;
  }
  size_t ListSome(Folder& folder, uint64_t& cookie, size_t room, Names& names) {
    size_t added = 0;
    const auto add = [&](const std::string& name, const Entry& /*entry*/, uint64_t next) {
      if (added == room) return false;
      ++added;
      cookie = next;
      if (name != "." && name != "..") names.insert(name);
      return true;
    };
    EXPECT_TRUE(tree->List(folder, cookie, add, ListingOf::kAttributes));
    return added;
  }
  [[nodiscard]] bool IsThere(const std::string& name) const {
    const auto entry = tree->LookUp(kRootId, name);
    return entry && entry->id != 0;
  }

  std::shared_ptr<FakeStore> store = std::make_shared<FakeStore>();
  std::unique_ptr<Tree> tree;
};

void PutArrays(const Fixture& fixture, int count) {
  for (int i = 0; i < count; ++i) {
    fixture.store->Put(fmt::format("a{:03}/zarr.json", i), Array());
  }
}

TEST(GroupListing, HasTheNamesThatLookUpsFind) {
  for (const char* const view : {"v2", "v3", "gdal", "netcdf", "java"}) {
    Fixture fixture(view);
    Names all;
    for (const std::string name : {"a", ".z", ".zarray", "zarr.json.d", "a b", "x/y", "1"}) {
      const std::string path = name == "x/y" ? "x" : name;
      fixture.store->Put(name + "/zarr.json", Array());
      fixture.store->Put("damaged" + path + "/zarr.json", "{");
      fixture.store->Put(".zdamaged" + path + "/zarr.json", "{");
      fixture.store->PutFolder("folder" + path);
      for (const char* const prefix : {"", "damaged", ".zdamaged", "folder"}) {
        all.insert(prefix + path);
      }
    }
    Names listed = fixture.All();
    std::erase_if(listed, [&](const std::string& name) { return !all.contains(name); });
    Names found;
    for (const std::string& name : all) {
      if (fixture.IsThere(name)) found.insert(name);
    }
    EXPECT_EQ(listed, found) << view;
    EXPECT_TRUE(found.contains("a")) << view;
  }
}

TEST(GroupListing, BeginsBeforeAllNodesAreRead) {
  Fixture fixture("v2");
  PutArrays(fixture, 200);
  fixture.store->ResetCounts();
  EXPECT_EQ(fixture.First(10).size(), 8U);
  EXPECT_LT(fixture.store->count(Call::kRead), 40U);
}

TEST(GroupListing, ReadsNothingAgain) {
  Fixture fixture("v2");
  PutArrays(fixture, 200);
  const Names names = fixture.All();
  EXPECT_GT(names.size(), 200U);
  fixture.store->ResetCounts();
  EXPECT_EQ(fixture.All(), names);
  EXPECT_LE(fixture.store->count(Call::kRead), 10U) << "the group itself, which is not cached here";
  fixture.store->Put("a007/zarr.json", R"({"zarr_format": 3, "node_type": "array"})");
  fixture.store->Remove("a008");
  fixture.store->Put("b/zarr.json", Array());
  Names changed = names;
  changed.erase("a008");
  changed.insert("b");
  EXPECT_EQ(fixture.All(), changed);
}

TEST(GroupListing, NameThatAViewNeverHasIsNotAskedOfTheStore) {
  Fixture fixture("v2");
  EXPECT_TRUE(fixture.IsThere(".zgroup"));
  fixture.store->ResetCounts();
  EXPECT_FALSE(fixture.IsThere(".zarray"));
  EXPECT_FALSE(fixture.IsThere(".zfoo"));
  size_t asked = 0;
  for (const Call call : FakeStore::kAllCalls) {
    asked += fixture.store->count(call, ".zarray") + fixture.store->count(call, ".zfoo") +
             fixture.store->count(call, ".zarray/zarr.json");
  }
  EXPECT_EQ(asked, 0U);
}

}  // namespace
}  // namespace zarrfs::group_listing_test
