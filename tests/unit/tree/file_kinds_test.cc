#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "fs/tree/tree.h"
#include "tests/unit/array/array_testing.h"
#include "tests/unit/support/fake_store.h"

namespace zarrfs::file_kinds_test {
namespace {

constexpr std::string_view kImage = R"({"zarr_format": 3, "node_type": "group", "attributes":
    {"ome": {"version": "0.5", "multiscales": []}}})";

struct FileKindsTest : testing::Test {
  FileKindsTest() {
    store->Put("zarr.json", R"({"zarr_format": 3, "node_type": "group", "attributes": {}})");
    store->Put("a/zarr.json", ArrayText("[4]", "[1]", R"({"name": "bytes"})",
                                        R"({"dimension_names": ["x"], "attributes": {}})"));
    store->Put("a/c/0", std::string(1, '\7'));
    store->Put("image/zarr.json", std::string(kImage));
    store->Put("image/METADATA.ome.xml", "<OME/>");
    tree = *Tree::Open(store, {});
  }

  [[nodiscard]] Entry Find(const std::vector<std::string>& path) const {
    Entry entry;
    entry.id = kRootId;
    for (const std::string& name : path) {
      const auto found = tree->LookUp(entry.id, name);
      EXPECT_TRUE(found) << name << ": " << found.error().message;
      if (!found) return {};
      entry = *found;
    }
    return entry;
  }

  const std::shared_ptr<FakeStore> store = std::make_shared<FakeStore>();
  std::unique_ptr<Tree> tree;
};

TEST_F(FileKindsTest, LookUpReadAttributesAndOpenAgreeOnWhatAFileIs) {
  const std::vector<std::pair<FileKind, std::vector<std::string>>> files = {
      {FileKind::kStoredChunk, {"v3", "a", "c", "0"}},
      {FileKind::kStoredChunk, {"v2", "a", "0"}},
      {FileKind::kFillChunk, {"v2", "a", "1"}},
      {FileKind::kDocument, {"v3", "a", "zarr.json"}},
      {FileKind::kDocument, {"v2", "a", ".zarray"}},
      {FileKind::kMadeDocument, {"v2", ".zmetadata"}},
      {FileKind::kMadeDocument, {"netcdf", "a", ".zattrs"}},
      {FileKind::kMadeDocument, {"gdal", "a", ".zattrs"}},
      {FileKind::kAssembledFile, {"npy", "a.npy"}},
      {FileKind::kStoredFile, {"v2", "image", "METADATA.ome.xml"}},
      {FileKind::kStoredFile, {"v3", "image", "METADATA.ome.xml"}}};
  for (const auto& [kind, path] : files) {
    SCOPED_TRACE(path.front() + "/…/" + path.back());
    const Entry entry = Find(path);
    ASSERT_NE(entry.id, 0U);
    EXPECT_EQ(entry.kind, kind);
    std::vector<std::byte> buffer(1 << 16);
    const auto read = tree->Read(entry.id, 0, buffer);
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(read->target.file, kind);
    EXPECT_EQ(read->bytes.size(), static_cast<size_t>(entry.attributes.st_size));
    const auto attributes = tree->Attributes(entry.id);
    ASSERT_TRUE(attributes) << attributes.error().message;
    EXPECT_EQ(attributes->kind, kind);
    EXPECT_EQ(attributes->attributes.st_size, entry.attributes.st_size);
    const auto opened = tree->CheckOpen(entry.id);
    EXPECT_TRUE(opened) << opened.error().message;
  }
}

TEST_F(FileKindsTest, WhatCannotBeReadIsAFileThatSaysWhy) {
  store->Put("bad/zarr.json", "{");
  const Entry entry = Find({"v3", "bad", "zarr.json"});
  EXPECT_EQ(entry.kind, FileKind::kUnreadable);
  std::vector<std::byte> buffer(16);
  const auto read = tree->Read(entry.id, 0, buffer);
  ASSERT_FALSE(read);
  EXPECT_NE(read.error().message.find("bad/zarr.json"), std::string::npos) << read.error().message;
  EXPECT_EQ(tree->Attributes(entry.id)->kind, FileKind::kUnreadable);
  EXPECT_TRUE(tree->CheckOpen(entry.id));
}

TEST_F(FileKindsTest, ADocumentThatNeedsANodeThatCannotBeReadSaysWhy) {
  const std::string attributes = R"("attributes": {"grid_mapping": "crs"})";
  store->Put("raster/zarr.json",
             ArrayText("[1, 1]", "[1, 1]", R"({"name": "bytes"})", "{" + attributes + "}"));
  store->Put("crs/zarr.json", ArrayText("[1]", "[1]", R"({"name": "bytes"})",
                                        R"({"attributes": {"crs_wkt": "GEOGCS[]"}})"));
  TreeOptions options;
  options.ttl = 0;
  tree = *Tree::Open(store, options);
  const auto read = [&] {
    std::vector<std::byte> buffer(1 << 16);
    const auto found = tree->Read(Find({"gdal", "raster", ".zattrs"}).id, 0, buffer);
    if (!found) return found.error().message;
    return std::string(reinterpret_cast<const char*>(found->bytes.data()), found->bytes.size());
  };
  EXPECT_NE(read().find(R"("wkt": "GEOGCS[]")"), std::string::npos);
  store->FailAllWith("crs", {ErrorCode::kIo, "the disk is gone"});
  EXPECT_EQ(Find({"gdal", "raster", ".zattrs"}).kind, FileKind::kUnreadable);
  EXPECT_EQ(read(), "the disk is gone");
  EXPECT_EQ(Find({"v2", "raster", ".zattrs"}).kind, FileKind::kDocument);
  store->ClearFaults();
  EXPECT_NE(read().find(R"("wkt": "GEOGCS[]")"), std::string::npos);
}

TEST_F(FileKindsTest, AStoredFileThatIsReplacedIsAnotherInode) {
  const std::vector<std::string> path = {"v2", "image", "METADATA.ome.xml"};
  const NodeId before = Find(path).id;
  store->Put("image/METADATA.ome.xml", "<OME>another</OME>");
  EXPECT_EQ(tree->CheckOpen(before).error().code, ErrorCode::kStale);
  std::vector<std::byte> buffer(64);
  EXPECT_EQ(tree->Read(before, 0, buffer).error().code, ErrorCode::kStale);
  const Entry now = Find(path);
  EXPECT_NE(now.id, before);
  EXPECT_TRUE(tree->CheckOpen(now.id));
}

TEST_F(FileKindsTest, AFileOfAnArrayThatIsAGroupNowCannotBeOpened) {
  TreeOptions options;
  options.ttl = 0;
  tree = *Tree::Open(store, options);
  const NodeId before = Find({"npy", "a.npy"}).id;
  store->Remove("a");
  store->Put("a/zarr.json", R"({"zarr_format": 3, "node_type": "group", "attributes": {}})");
  EXPECT_EQ(tree->CheckOpen(before).error().code, ErrorCode::kStale);
  std::vector<std::byte> buffer(64);
  EXPECT_EQ(tree->Read(before, 0, buffer).error().code, ErrorCode::kStale);
}

}  // namespace
}  // namespace zarrfs::file_kinds_test
