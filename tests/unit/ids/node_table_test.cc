#include "fs/ids/node_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "fs/ids/epoch_table.h"
#include "tests/unit/support/fake_store.h"

namespace zarrfs::node_table_test {
namespace {

std::string ArrayJson(const std::string& shape, const std::string& inner, const std::string& extra,
                      const std::string& members = "\"x\": {\"must_understand\": false}") {
  return R"({"zarr_format": 3, "node_type": "array", "data_type": "uint8", "fill_value": 0,
    "chunk_key_encoding": {"name": "default"}, "attributes": {)" +
         extra + "}, " + members + R"(, "shape": )" + shape +
         R"(, "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [8, 8]}},
    "codecs": [{"name": "sharding_indexed", "configuration": {"chunk_shape": [4, 4], "codecs": [)" +
         inner +
         R"(], "index_codecs": [{"name": "bytes", "configuration": {"endian": "little"}}]}}]})";
}

constexpr const char* kPlain = R"({"name": "bytes"})";
constexpr const char* kChecked = R"({"name": "bytes"}, {"name": "crc32c"})";

struct NodeTableTest : testing::Test {
  NodeTableTest() { store->Put("zarr.json", R"({"zarr_format": 3, "node_type": "group"})"); }

  CurrentNode Refresh(const std::string& path) {
    return table.Refresh(hierarchy.Get(path, Age{0}).value()).value();
  }

  // Until nobody but who holds them has the nodes seen before. (A thread keeps the chunks whose id
  // it resolved last.)
  void Forget() {
    for (int i = 0; i < 200; ++i) {
      store->Put(fmt::format("other/{}/zarr.json", i), ArrayJson("[4, 4]", kPlain, ""));
      const CurrentNode other = Refresh(fmt::format("other/{}", i));
      (void)table.Resolve(other.range->views[v2].files);
    }
  }

  const size_t v2 = *ViewNumber("v2");
  const size_t v3 = *ViewNumber("v3");
  std::shared_ptr<FakeStore> store = std::make_shared<FakeStore>();
  Hierarchy hierarchy{store, HierarchyOptions{.node_cache_bytes = 1}, {}};
  IdJournal journal;
  NodeTable table{0b11, journal, 1};
};

TEST_F(NodeTableTest, RootIsOne) { EXPECT_EQ(table.Resolve(1)->kind, Target::Kind::kRoot); }

TEST_F(NodeTableTest, IdsThatWereNeverGivenOutStandForNothing) {
  Refresh("");
  EXPECT_FALSE(table.Resolve(0));
  EXPECT_FALSE(table.Resolve(2));
  EXPECT_FALSE(table.Resolve(1'000'000));
  EXPECT_FALSE(table.Resolve(MakeId((uint64_t{1} << kPositionBits) - 1, 3)));
}

TEST_F(NodeTableTest, EachIdLeadsBackToWhatItStandsFor) {
  store->Put("a/zarr.json", ArrayJson("[20, 12]", kPlain, ""));
  const CurrentNode seen = Refresh("a");
  std::set<NodeId> ids;
  for (const size_t view : {v2, v3}) {
    const NodeId folder = seen.record->FolderId(view);
    EXPECT_TRUE(ids.insert(folder).second);
    EXPECT_EQ(table.Resolve(folder)->kind, Target::Kind::kFolder);
    EXPECT_EQ(table.Resolve(folder)->view, view);
    EXPECT_EQ(table.Resolve(folder)->record, seen.record);
    for (size_t d = 0; d < seen.node->views[view].documents.size(); ++d) {
      const auto document = table.Resolve(seen.record->DocumentId(view, d, 7));
      EXPECT_EQ(document->kind, Target::Kind::kDocument);
      EXPECT_EQ(document->document, d);
      EXPECT_EQ(document->epoch, 7);
    }
    if (view == v2) continue;  // whose chunks lie in the array's own folder
    for (uint64_t row = 0; row < 5; ++row) {
      const NodeId rows = seen.range->FolderId(view, std::span(&row, 1));
      EXPECT_TRUE(ids.insert(rows).second);
      const auto target = table.Resolve(rows);
      ASSERT_EQ(target->kind, Target::Kind::kChunkFolder);
      EXPECT_EQ(target->view, view);
      EXPECT_EQ(target->level, 1u);
      EXPECT_EQ(target->prefix[0], row);
    }
    EXPECT_EQ(table.Resolve(seen.range->FolderId(view, {}))->level, 0u);
  }
  for (uint64_t chunk = 0; chunk < 15; ++chunk) {
    const NodeId id = MakeId(seen.range->views[v2].files + chunk, 65533);
    EXPECT_TRUE(ids.insert(id).second);
    const auto target = table.Resolve(id);
    ASSERT_EQ(target->kind, Target::Kind::kChunk);
    EXPECT_EQ(target->chunk, InnerIndex{chunk});
    EXPECT_EQ(target->epoch, 65533);
  }
}

TEST_F(NodeTableTest, ViewsThatServeTheSameBytesShareFiles) {
  store->Put("a/zarr.json", ArrayJson("[16, 16]", kPlain, ""));
  const CurrentNode seen = Refresh("a");
  EXPECT_EQ(seen.range->views[v2].files, seen.range->views[v3].files);
  EXPECT_EQ(seen.range->views[v2].links, 2u);
}

TEST_F(NodeTableTest, FillChunksAreFilesOfTheViewThatShowsThem) {
  const char* named = R"("dimension_names": ["x", "y"])";
  store->Put("a/zarr.json", ArrayJson("[16, 16]", kPlain, "", named));
  const CurrentNode seen = Refresh("a");
  ASSERT_NE(seen.range->views[v2].fill_chunk, nullptr);
  ASSERT_EQ(seen.range->views[v3].fill_chunk, nullptr);
  const auto target = table.Resolve(MakeFillId(seen.range->views[v3].files + 5));
  ASSERT_TRUE(target);
  EXPECT_EQ(target->kind, Target::Kind::kChunk);
  EXPECT_EQ(target->view, v2) << "though v3 serves the same files of stored chunks";
  EXPECT_EQ(target->chunk, InnerIndex{5});
  EXPECT_EQ(target->file, FileKind::kFillChunk);
}

TEST_F(NodeTableTest, AChangedFillValueIsNewFilesOnlyWhereTheyHoldIt) {
  const char* named = R"("dimension_names": ["x", "y"])";
  store->Put("a/zarr.json", ArrayJson("[16, 16]", kPlain, "", named));
  store->Put("b/zarr.json", ArrayJson("[16, 16]", kPlain, ""));
  const CurrentNode a = Refresh("a");
  const CurrentNode b = Refresh("b");
  const auto change = [&](const char* path, const char* more) {
    std::string text = ArrayJson("[16, 16]", kPlain, "", more);
    const size_t at = text.find("\"fill_value\": 0");
    ASSERT_NE(at, std::string::npos) << text;
    store->Put(path, text.replace(at, 15, "\"fill_value\": 7"));
  };
  change("a/zarr.json", named);
  change("b/zarr.json", R"("dimension_names": [null, null])");
  EXPECT_NE(Refresh("a").range, a.range);
  EXPECT_NE(Refresh("b").range, b.range) << "to gdal, which takes null for zeros, it is a file now";
}

// Nothing is the whole of an element "", as it is of what an array without such files has.
TEST_F(NodeTableTest, AnArrayOfTextsThatGetsFilesOfTheEmptyOneHasNewFiles) {
  const auto put = [&](const char* attributes) {
    Json json = *ParseJson(ArrayJson("[16, 16]", R"({"name": "vlen-utf8"})", attributes,
                                     R"("dimension_names": ["x", "y"])"),
                           "a");
    json["data_type"] = "string";
    json["fill_value"] = "";
    store->Put("a/zarr.json", DumpJson(json));
  };
  put(R"("_FillValue": "")");
  const CurrentNode masked = Refresh("a");
  EXPECT_EQ(masked.range->views[v2].fill_chunk, nullptr);
  put("");
  const CurrentNode plain = Refresh("a");
  EXPECT_NE(plain.range, masked.range);
  EXPECT_NE(plain.range->views[v2].fill_chunk, nullptr);
}

TEST_F(NodeTableTest, ViewsThatCutDifferentlyHaveFilesOfTheirOwn) {
  store->Put("a/zarr.json", ArrayJson("[16, 16]", kChecked, ""));
  const CurrentNode seen = Refresh("a");
  EXPECT_EQ(seen.range->views[v2].encoding.cut_back, 4u);
  EXPECT_GE(std::max(seen.range->views[v2].files, seen.range->views[v3].files) -
                std::min(seen.range->views[v2].files, seen.range->views[v3].files),
            16u);
  EXPECT_EQ(seen.range->views[v3].links, 1u);
}

TEST_F(NodeTableTest, ChangedAttributesAreNewMetadataFilesButTheSameChunks) {
  store->Put("a/zarr.json", ArrayJson("[16, 16]", kPlain, ""));
  const CurrentNode before = Refresh("a");
  store->Put("a/zarr.json", ArrayJson("[16, 16]", kPlain, R"("x": 1)"));
  const CurrentNode after = Refresh("a");
  EXPECT_EQ(after.document_epoch, before.document_epoch + 1);
  EXPECT_EQ(after.range, before.range);
  EXPECT_EQ(after.record, before.record);
}

TEST_F(NodeTableTest, ChangedShapeIsNewChunksInTheSameFolder) {
  store->Put("a/zarr.json", ArrayJson("[16, 16]", kPlain, ""));
  const CurrentNode before = Refresh("a");
  store->Put("a/zarr.json", ArrayJson("[16, 24]", kPlain, ""));
  const CurrentNode after = Refresh("a");
  EXPECT_NE(after.range, before.range);
  EXPECT_NE(after.range->views[v2].files, before.range->views[v2].files);
  EXPECT_EQ(after.record->FolderId(v2), before.record->FolderId(v2));
  EXPECT_EQ(table.Resolve(before.range->views[v2].files)->range, before.range);
}

TEST_F(NodeTableTest, AnArrayThatWasGivenUpHasTheSameIdsOnceItIsSeenAgain) {
  store->Put("a/zarr.json", ArrayJson("[16, 16]", kPlain, ""));
  NodeId document = 0, chunk = 0, folder = 0;
  {
    const CurrentNode before = Refresh("a");
    document = before.record->DocumentId(v2, 0, before.document_epoch);
    chunk = before.range->views[v2].files + 3;
    folder = before.range->FolderId(v3, {});
    EXPECT_EQ(before.range->epochs->Observe(0, 77), 0U);
    EXPECT_EQ(before.range->epochs->Observe(0, 78), 1U);
  }
  EXPECT_EQ(table.Resolve(chunk)->kind, Target::Kind::kChunk);
  Forget();
  EXPECT_EQ(table.Resolve(chunk)->kind, Target::Kind::kUnloaded);
  EXPECT_EQ(table.Resolve(folder)->record->path, "a");
  const CurrentNode after = Refresh("a");
  EXPECT_EQ(after.record->DocumentId(v2, 0, after.document_epoch), document);
  EXPECT_EQ(after.range->views[v2].files + 3, chunk);
  EXPECT_EQ(after.range->FolderId(v3, {}), folder);
  EXPECT_EQ(table.Resolve(chunk)->chunk, InnerIndex{3});
  EXPECT_EQ(after.range->epochs->Current(0), 1U) << "what was seen of its shards is not forgotten";
}

TEST_F(NodeTableTest, OfVeryLargeNodesOnlyTheLastIsHeld) {
  for (const size_t bytes : {size_t{1} << 20, size_t{200} << 20}) {
    std::vector<std::weak_ptr<const Node>> seen;
    for (int i = 0; i < 8; ++i) {
      auto node = std::make_shared<Node>();
      node->path = fmt::format("{}/{}", bytes, i);
      node->metadata = GroupMetadata{};
      node->bytes_in_memory = bytes;
      seen.push_back(node);
      (void)table.Refresh(node);
    }
    const auto held = std::ranges::count_if(seen, [](const auto& node) { return !node.expired(); });
    EXPECT_EQ(held, bytes == 1u << 20 ? 8 : 1);
  }
}

TEST_F(NodeTableTest, AnArrayThatChangedAfterItWasGivenUpHasOtherIds) {
  store->Put("a/zarr.json", ArrayJson("[16, 16]", kPlain, ""));
  const NodeId chunk = Refresh("a").range->views[v2].files;
  const uint32_t epoch = Refresh("a").document_epoch;
  Forget();
  store->Put("a/zarr.json", ArrayJson("[16, 24]", kPlain, ""));
  const CurrentNode after = Refresh("a");
  EXPECT_NE(after.range->views[v2].files, chunk);
  EXPECT_EQ(after.document_epoch, epoch + 1);
  EXPECT_EQ(table.Resolve(chunk)->kind, Target::Kind::kUnloaded) << "gone";
}

// Ids of all chunk files and chunk folders of "a", and where they lead.
TEST_F(NodeTableTest, AnArrayThatGrowsByRowsKeepsItsIds) {
  const auto put = [&](int rows) {
    store->Put("a/zarr.json", ArrayJson(fmt::format("[{}, 12]", rows), kPlain, ""));
    return Refresh("a");
  };
  std::map<uint64_t, NodeId> files;
  std::map<std::pair<uint64_t, uint64_t>, NodeId> folders;  // by level and row
  CurrentNode grown;
  for (const int rows : {4, 8, 9, 20, 21, 60, 64, 200}) {
    grown = put(rows);
    const ArrayRange& range = *grown.range;
    for (uint64_t chunk = 0; chunk < range.chunks->layout().inner_grid.size(); ++chunk) {
      const NodeId id = range.PositionOf(v2, InnerIndex{chunk});
      EXPECT_EQ(files.try_emplace(chunk, id).first->second, id) << chunk;
    }
    for (uint64_t row = 0; row < range.rows(); ++row) {
      const NodeId id = range.FolderId(v3, std::span(&row, 1));
      EXPECT_EQ(folders.try_emplace({1, row}, id).first->second, id) << row;
    }
    const NodeId all = range.FolderId(v3, {});
    EXPECT_EQ(folders.try_emplace({0, 0}, all).first->second, all);
  }
  std::set<NodeId> distinct;
  for (const auto& [chunk, id] : files) {
    EXPECT_TRUE(distinct.insert(id).second);
    EXPECT_EQ(table.Resolve(id)->chunk, InnerIndex{chunk});
  }
  for (const auto& [place, id] : folders) {
    EXPECT_TRUE(distinct.insert(id).second);
    EXPECT_EQ(table.Resolve(id)->level, place.first);
    EXPECT_EQ(table.Resolve(id)->prefix[0], place.second);
  }
  EXPECT_EQ(table.Resolve(files[1])->kind, Target::Kind::kChunk);

  // Chunks that are gone have ids that lead nowhere; there are others if they come again.
  grown = put(8);
  EXPECT_NE(grown.range->PositionOf(v2, InnerIndex{0}), files[0]);
}

TEST_F(NodeTableTest, ASnapshotThatComesLateChangesNothing) {
  const auto get = [&](const char* shape) {
    store->Put("a/zarr.json", ArrayJson(shape, kPlain, ""));
    return hierarchy.Get("a", Age{0}).value();
  };
  const NodePtr before = get("[16, 16]");
  const NodePtr after = get("[20, 16]");
  const CurrentNode seen = table.Refresh(after).value();
  EXPECT_EQ(table.Refresh(before)->node, after);
  EXPECT_EQ(table.Refresh(before)->range, seen.range);
}

TEST_F(NodeTableTest, RowsThatNotYetHaveChunksAreNoChunks) {
  store->Put("a/zarr.json", ArrayJson("[16, 16]", kPlain, ""));
  Refresh("a");
  store->Put("a/zarr.json", ArrayJson("[20, 16]", kPlain, ""));  // with room for as many again
  const CurrentNode grown = Refresh("a");
  const NodeId last = grown.range->PositionOf(v2, InnerIndex{19});
  EXPECT_TRUE(table.Resolve(last));
  EXPECT_FALSE(table.Resolve(last + 1));
}

TEST_F(NodeTableTest, AppendingTakesFewMoreNumbersThanTheArrayHasChunks) {
  store->Put("b/zarr.json", ArrayJson("[4, 4]", kPlain, ""));
  const uint64_t begin = Refresh("b").record->block;
  for (int rows = 4; rows <= 4'000; rows += 4) {
    store->Put("a/zarr.json", ArrayJson(fmt::format("[{}, 4]", rows), kPlain, ""));
    Refresh("a");
  }
  store->Put("c/zarr.json", ArrayJson("[4, 4]", kPlain, ""));
  // A file and a folder of each.
  EXPECT_LT(Refresh("c").record->block - begin, 4U * 2 * 1'000);
}

TEST_F(NodeTableTest, ChunksOfAReplacedLayoutAreDroppedAfterAWhile) {
  store->Put("a/zarr.json", ArrayJson("[16, 16]", kPlain, ""));
  const NodeId before = Refresh("a").range->views[v2].files;
  store->Put("a/zarr.json", ArrayJson("[16, 24]", kPlain, ""));
  const auto now = NodeTable::Clock::now();
  Refresh("a");
  (void)table.Sweep(now + kReplacedRangeGrace / 2);
  EXPECT_EQ(table.Resolve(before)->kind, Target::Kind::kChunk);
  EXPECT_EQ(table.Sweep(now + 2 * kReplacedRangeGrace), NodeTable::Clock::time_point::max());
  EXPECT_EQ(table.Resolve(before)->kind, Target::Kind::kUnloaded);
}

TEST_F(NodeTableTest, OnlyHugeArraysHaveNumbersThat32BitProgramsCannotStat) {
  store->Put("huge/zarr.json", ArrayJson("[4000000, 400000]", kPlain, ""));
  store->Put("small/zarr.json", ArrayJson("[16, 16]", kPlain, ""));
  EXPECT_GE(Refresh("huge").range->views[v2].files, uint64_t{1} << 32);
  EXPECT_LT(Refresh("small").range->FolderId(v3, {}), uint64_t{1} << 32);
  const CurrentNode huge = Refresh("huge");
  const auto last = table.Resolve(huge.range->views[v2].files + 999'999ull * 100'000);
  EXPECT_EQ(last->chunk, InnerIndex{999'999ull * 100'000});
}

TEST_F(NodeTableTest, EmptyArrayOfHugeOtherDimensionsIsShown) {
  store->Put("a/zarr.json", ArrayJson("[9000000000000000000, 0]", kPlain, ""));
  EXPECT_NE(Refresh("a").range, nullptr);
}

TEST_F(NodeTableTest, ArraysAreRefusedOnceAllNumbersAreUsed) {
  int shown = 0;
  for (int i = 0; i < 300; ++i) {
    const std::string path = "a" + std::to_string(i);
    store->Put(path + "/zarr.json", ArrayJson("[4000000, 4000000]", kPlain, ""));
    const auto seen = table.Refresh(hierarchy.Get(path, Age{0}).value());
    if (!seen) {
      EXPECT_EQ(seen.error().message, path + ": no node ids are left for its chunks");
      break;
    }
    ++shown;
  }
  EXPECT_GT(shown, 50);
  EXPECT_LT(shown, 300);
  store->Put("small/zarr.json", ArrayJson("[16, 16]", kPlain, ""));
  EXPECT_TRUE(table.Refresh(hierarchy.Get("small", Age{0}).value()));
}

TEST(EpochTable, CountsEachTimeTheVersionIsAnother) {
  EpochTable table;
  EXPECT_EQ(table.Observe(5, 100), 0u);
  EXPECT_EQ(table.Observe(5, 100), 0u);
  EXPECT_EQ(table.Observe(6, 200), 0u);
  EXPECT_EQ(table.Observe(5, 101), 1u);
  EXPECT_EQ(table.Observe(5, 100), 2u);
  EXPECT_EQ(table.Observe(6, 200), 0u);
}

TEST(EpochTable, ReadOfASupersededVersionLeavesTheEpochAlone) {
  EpochTable table;
  table.Observe(5, 100);
  table.Observe(5, 101);
  EXPECT_EQ(table.Known(5, 100), std::nullopt);
  EXPECT_EQ(table.Known(5, 101), 1u);
  EXPECT_EQ(table.Known(6, 101), std::nullopt);
}

TEST(EpochTable, NeighboursTakeFewBytes) {
  const auto usage = std::make_shared<EpochTable::Usage>();
  {
    EpochTable table(1'000'000, usage);
    for (uint64_t object = 0; object < 1'000'000; ++object) table.Observe(object, object * 7);
    for (uint64_t object = 0; object < 1'000'000; object += 1000) {
      EXPECT_EQ(table.Known(object, object * 7), 0u);
    }
    EXPECT_LT(usage->bytes, 12'000'000u);
  }
  EXPECT_EQ(usage->bytes, 0u);
}

TEST(EpochTable, WhatIsForgottenGetsAnEpochThatNoInodeHad) {
  const auto usage = std::make_shared<EpochTable::Usage>();
  EpochTable table(16, usage);  // all in one part
  table.Observe(5, 100);
  table.Observe(6, 200);
  table.Observe(6, 201);
  table.Observe(1000, 300);
  usage->round = 1;
  table.Observe(2000, 400);
  std::vector<uint64_t> named;
  uint64_t left = 100;
  table.Mark(/*round=*/0, left, [&](uint64_t object) { named.push_back(object); });
  std::ranges::sort(named);
  EXPECT_EQ(named, (std::vector<uint64_t>{5, 6, 1000}));
  EXPECT_EQ(left, 97u);
  EXPECT_EQ(table.Observe(1000, 300), 0u);  // seen again, so it is kept
  table.DropMarked();
  EXPECT_EQ(table.Known(1000, 300), 0u);
  EXPECT_EQ(table.Known(2000, 400), 0u);
  EXPECT_EQ(table.Known(5, 100), std::nullopt);
  EXPECT_EQ(table.Known(6, 201), std::nullopt);
  EXPECT_EQ(table.Current(5), 2u);  // the page had 0 and 1
  EXPECT_EQ(table.Observe(5, 100), 2u);
  EXPECT_EQ(table.Observe(6, 202), 2u);
  EXPECT_EQ(table.Observe(5, 101), 3u);
  EXPECT_EQ(table.VersionOf(5, 2), (ObjectVersion{100, 0}));
}

TEST(EpochTable, NoMoreIsMarkedThanAskedFor) {
  const auto usage = std::make_shared<EpochTable::Usage>();
  EpochTable table(UINT64_MAX, usage);
  for (uint64_t object = 0; object < 6400; ++object) table.Observe(object, 1);
  uint64_t left = 1000;
  uint64_t named = 0;
  table.Mark(0, left, [&](uint64_t) { ++named; });
  EXPECT_EQ(left, 0u);
  EXPECT_EQ(named, 1024u);  // whole pages
  const uint64_t before = usage->bytes;
  table.DropMarked();
  EXPECT_LT(usage->bytes, before * 9 / 10);
  EXPECT_GT(usage->bytes, before * 7 / 10);
}

// An OpenShard, which its ChunkSource keeps, has a note of its epoch: that must mean the same in
// all ranges of the source.
TEST_F(NodeTableTest, RangesOfOneSourceShareTheirEpochs) {
  const Hierarchy keeping{store, HierarchyOptions{}, {}};
  NodeTable nodes(0b11, journal);
  const auto refresh = [&] { return nodes.Refresh(keeping.Get("a", Age{0}).value()).value(); };
  std::string json = ArrayJson("[20, 12]", kPlain, "", R"("dimension_names": ["x", "y"])");
  store->Put("a/zarr.json", json);
  const RangePtr first = refresh().range;
  store->Remove("a/zarr.json");
  ASSERT_FALSE(keeping.Get("a", Age{0}));
  store->Put("a/zarr.json", json);
  const RangePtr again = refresh().range;
  ASSERT_NE(again->chunks, first->chunks) << "another source";
  EXPECT_EQ(again->views[v2].files, first->views[v2].files) << "of the same files";
  store->Put("a/zarr.json", json.replace(json.find("\"fill_value\": 0"), 15, "\"fill_value\": 7"));
  const RangePtr other = refresh().range;
  ASSERT_EQ(other->chunks, again->chunks) << "the same source";
  ASSERT_NE(other->views[v2].files, again->views[v2].files) << "of other files";
  EXPECT_EQ(other->epochs, again->epochs);
}

}  // namespace
}  // namespace zarrfs::node_table_test
