#include "zarrcore/hierarchy/outline.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/unit/array/array_testing.h"
#include "tests/unit/support/fake_store.h"
#include "zarrcore/hierarchy/hierarchy.h"

namespace zarrfs::outline_test {
namespace {

constexpr Age kNow{0};
constexpr std::string_view kGroup = R"({"zarr_format": 3, "node_type": "group"})";

std::string Replaced(std::string text, std::string_view from, std::string_view to) {
  text.replace(text.find(from), from.size(), to);
  return text;
}

std::string Array(std::string_view type = "") {
  const std::string text = ArrayText("[4]", "[4]", Sharding("[2]", kBytesCodec));
  return type.empty() ? text : Replaced(text, "\"uint8\"", fmt::format("\"{}\"", type));
}

struct Fixture {
  explicit Fixture(HierarchyOptions options = {})
      : hierarchy(store, options,
                  [this](const Error& error) { reports.push_back(error.message); }) {
    store->Put("zarr.json", kGroup);
  }
  [[nodiscard]] OutlinePtr Get(const std::string& path) const {
    const auto outline = hierarchy.GetOutline(path, kNow);
    EXPECT_TRUE(outline) << path;
    return outline ? *outline : nullptr;
  }
  // It says what the node says.
  void ExpectAsNode(const std::string& path) const {
    const auto outline = hierarchy.GetOutline(path, kNow);
    const auto node = hierarchy.Get(path, kNow);
    ASSERT_EQ(outline.has_value(), node.has_value()) << path;
    if (!node) {
      EXPECT_EQ(outline.error().code, node.error().code) << path;
      return;
    }
    EXPECT_EQ((*outline)->is_array, (*node)->array() != nullptr) << path;
    EXPECT_EQ((*outline)->is_group, (*node)->group() != nullptr) << path;
    EXPECT_EQ((*outline)->is_unreadable, (*node)->unreadable() != nullptr) << path;
    EXPECT_EQ((*outline)->is_file, (*node)->is_file) << path;
    EXPECT_EQ((*outline)->below_ome, (*node)->below_ome) << path;
    EXPECT_EQ((*outline)->shape, ShapeOf(**node)) << path;
    EXPECT_EQ((*outline)->sources.size(), (*node)->sources.size()) << path;
    for (size_t v = 0; v < AllViews().size(); ++v) {
      EXPECT_EQ((*outline)->hidden[v], (*node)->views[v].hidden.has_value())
          << path << " in " << AllViews()[v]->name();
    }
  }

  std::shared_ptr<FakeStore> store = std::make_shared<FakeStore>();
  std::vector<std::string> reports;
  Hierarchy hierarchy;
};

TEST(Outline, SaysWhatTheNodeSays) {
  Fixture fixture;
  const std::vector<std::string> documents = {
      Array(),
      Array("float32"),
      Array("bfloat16"),
      Array("no such type"),
      Replaced(Array(), "\"bytes\"", "\"no such codec\""),
      ArrayText("[0]", "[4]", Sharding("[2]", kBytesCodec)),
      ArrayText("[4, 4]", "[4, 4]", Sharding("[2, 2]", kBytesCodec)),
      ArrayText("[4]", "[4]", Sharding("[3]", kBytesCodec)),
      std::string(kGroup),
      R"({"zarr_format": 3, "node_type": "group", "attributes": {"ome": {"version": "0.5"}}})",
      R"({"zarr_format": 3, "node_type": "group", "must": {}})",
      "{",
      "[]",
      Array() + "}",
  };
  for (size_t i = 0; i < documents.size(); ++i) {
    // The second of each is like one that is known.
    for (const char* const name : {"a", "b"}) {
      const std::string path = fmt::format("{}{}", name, i);
      fixture.store->Put(path + "/zarr.json", documents[i]);
      fixture.ExpectAsNode(path);
      fixture.store->Put("below/" + path + "/zarr.json", documents[i]);
      fixture.ExpectAsNode("below/" + path);
      fixture.store->Put("a9/" + path + "/zarr.json", documents[i]);  // below an OME group
      fixture.ExpectAsNode("a9/" + path);
    }
  }
  fixture.store->Put("v2/.zarray", R"({"zarr_format": 2})");
  fixture.ExpectAsNode("v2");
  fixture.store->PutFolder("folder");
  fixture.ExpectAsNode("folder");
  fixture.store->Put("file", "");
  fixture.ExpectAsNode("file");
  fixture.ExpectAsNode("nothing");
}

TEST(Outline, OfANodeLikeAnotherIsReadAndNotMade) {
  Fixture fixture({.node_cache_bytes = 1});
  fixture.store->Put("a/zarr.json", Array());
  (void)fixture.Get("a");
  const size_t used = ProcessMemory().used();
  for (int i = 0; i < 100; ++i) {
    const std::string path = fmt::format("b{}", i);
    fixture.store->Put(path + "/zarr.json", Array());
    EXPECT_TRUE(fixture.Get(path)->is_array);
  }
  EXPECT_LT(ProcessMemory().used() - used, 100 * 1536U) << "some hundred bytes each";
}

TEST(Outline, FollowsEachChangeOfTheDocument) {
  Fixture fixture;
  const size_t netcdf = *ViewNumber("netcdf");
  fixture.store->Put("known/zarr.json", Array());
  fixture.store->Put("a/zarr.json", Array());
  fixture.ExpectAsNode("known");
  EXPECT_FALSE(fixture.Get("a")->hidden[netcdf]);
  fixture.store->Put("a/zarr.json", Array("no such type"));
  EXPECT_TRUE(fixture.Get("a")->hidden[netcdf]);
  fixture.store->Put("a/zarr.json", kGroup);
  EXPECT_TRUE(fixture.Get("a")->is_group);
  fixture.store->Put("a/zarr.json", "{");
  EXPECT_TRUE(fixture.Get("a")->is_unreadable);
  fixture.store->Put("a/zarr.json", Array());
  EXPECT_TRUE(fixture.Get("a")->is_array);
  fixture.store->Remove("a");
  EXPECT_EQ(fixture.hierarchy.GetOutline("a", kNow).error().code, ErrorCode::kNotFound);
}

TEST(Outline, OfEachNodeThatAViewLacksIsReported) {
  std::vector<std::string> notes;
  Fixture fixture({.on_note = [&](const Error& note) { notes.push_back(note.message); }});
  for (const char* const path : {"a", "b"}) {
    fixture.store->Put(std::string(path) + "/zarr.json", Array("no such type"));
    (void)fixture.Get(path);
  }
  EXPECT_EQ(notes.size(), 2U);
  fixture.store->Put("c/zarr.json", Array());
  fixture.store->Put(".z/zarr.json", Array());
  (void)fixture.Get("c");
  (void)fixture.Get(".z");
  EXPECT_EQ(fixture.reports.size(), 1U) << "a name that v2 refuses";
}

}  // namespace
}  // namespace zarrfs::outline_test
