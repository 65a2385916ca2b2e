#include "zarrcore/hierarchy/hierarchy.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <ctime>
#include <limits>
#include <map>
#include <mutex>
#include <thread>

#include "tests/unit/array/array_testing.h"
#include "tests/unit/support/fake_store.h"
#include "tests/unit/support/memory.h"
#include "zarrcore/base/waiting.h"
#include "zarrcore/hierarchy/consolidated.h"
#include "zarrcore/store/gated_store.h"

namespace zarrfs::hierarchy_test {
namespace {

using Call = FakeStore::Call;
using Names = std::vector<std::string>;
using std::chrono::hours;

constexpr Age kNow{0};
constexpr std::string_view kGroup = R"({"zarr_format": 3, "node_type": "group"})";

const std::string& ArrayJson() {
  static const std::string text = ArrayText("[4]", "[4]", Sharding("[2]", kBytesCodec));
  return text;
}

struct Fixture {
  explicit Fixture(bool gated = false, HierarchyOptions options = {})
      : hierarchy((store->SetAnswersFast(!gated), Gate(store)), options,
                  [this](const Error& error) {
                    const std::lock_guard lock(mutex);
                    reports.push_back(error.message);
                  }) {}

  [[nodiscard]] NodePtr Node(const std::string& path, Age age = kNow) const {
    auto node = hierarchy.Get(path, age);
    EXPECT_TRUE(node) << path << ": " << (node ? "" : node.error().message);
    return node ? *node : std::make_shared<const zarrfs::Node>();
  }
  [[nodiscard]] std::string Failure(const std::string& path, Age age = kNow) const {
    const auto node = hierarchy.Get(path, age);
    return node ? "found" : std::string(ToString(node.error().code));
  }
  [[nodiscard]] Names Children(const std::string& path, Age age = kNow) const {
    const auto children = hierarchy.Children(*Node(path, age), age);
    EXPECT_TRUE(children);
    return children ? children->value : Names{"failed"};
  }

  std::shared_ptr<FakeStore> store = std::make_shared<FakeStore>();
  std::mutex mutex;
  Names reports;
  Hierarchy hierarchy;
  MadeTexts texts;
  ConsolidatedDocuments consolidated{hierarchy, texts};
};

const size_t kV2 = *ViewNumber("v2");
const size_t kV3 = *ViewNumber("v3");

TEST(Hierarchy, GroupsAndArraysHaveTheirDocumentsInEveryView) {
  const Fixture fixture;
  fixture.store->Put("zarr.json", kGroup);
  fixture.store->Put("g/zarr.json", kGroup);
  fixture.store->Put("g/a/zarr.json", ArrayJson());
  const NodePtr root = fixture.Node("");
  ASSERT_NE(root->group(), nullptr);
  EXPECT_EQ(root->views[kV2].documents.size(), 2U);
  EXPECT_FALSE(root->views[kV2].array);
  const NodePtr array = fixture.Node("g/a");
  ASSERT_NE(array->array(), nullptr);
  ASSERT_NE(array->chunks, nullptr);
  EXPECT_EQ(array->chunks->folder(), "g/a");
  EXPECT_EQ(array->views[kV2].documents[0].name, ".zarray");
  EXPECT_EQ(array->views[kV3].documents[0].name, "zarr.json");
  EXPECT_EQ(array->views[kV3].array->naming, (ChunkNaming{true, '/'}));
  EXPECT_EQ(fixture.Failure("g/b"), "not found");
  EXPECT_EQ(fixture.Failure("g/a/c"), "not found");
}

TEST(Hierarchy, AForcedSeparatorReachesTheViews) {
  const Fixture fixture(false, {.forced_separator = '/'});
  fixture.store->Put("zarr.json", ArrayJson());
  EXPECT_EQ(fixture.Node("")->views[kV2].array->naming.separator, '/');
}

TEST(Hierarchy, AFolderAboveANodeIsAnImplicitGroup) {
  const Fixture fixture;
  fixture.store->Put("x/y/a/zarr.json", ArrayJson());
  fixture.store->Put("x/photos/cat.jpg", "meow");
  fixture.store->PutFolder("x/empty");
  for (const char* path : {"", "x", "x/y"}) {
    const NodePtr node = fixture.Node(path);
    EXPECT_TRUE(node->implicit) << path;
    EXPECT_NE(node->group(), nullptr);
  }
  EXPECT_EQ(fixture.Children("x"), Names{"y"});
  EXPECT_EQ(fixture.Failure("x/photos"), "not found");
  EXPECT_EQ(fixture.Failure("x/empty"), "not found");
  EXPECT_EQ(fixture.Failure("x/photos/cat.jpg"), "not found");
}

TEST(Hierarchy, AnImplicitGroupThatGetsAZarrJsonIsReadAnew) {
  const Fixture fixture;
  fixture.store->Put("x/a/zarr.json", ArrayJson());
  EXPECT_TRUE(fixture.Node("x")->implicit);
  fixture.store->Put("x/zarr.json",
                     R"({"zarr_format": 3, "node_type": "group", "attributes": {"n": 1}})");
  EXPECT_FALSE(fixture.Node("x")->implicit);
  EXPECT_EQ(fixture.Node("x")->group()->attributes["n"], 1);
  fixture.store->Remove("x/zarr.json");
  EXPECT_TRUE(fixture.Node("x")->implicit);
  fixture.store->Remove("x/a");
  EXPECT_EQ(fixture.Failure("x"), "not found");
}

TEST(Hierarchy, ChunksAreOthersOnceShardsHaveOtherLengths) {
  const Fixture fixture;
  const auto id_of = [&](std::string_view shape, std::string_view lengths) {
    fixture.store->Put("a/zarr.json", ArrayText(shape, "[]", Sharding("[2]", kBytesCodec),
                                                Rectilinear(fmt::format("[{}]", lengths))));
    return fixture.Node("a")->chunks->id();
  };
  const uint64_t first = id_of("[10]", "[4, 6]");
  const uint64_t swapped = id_of("[10]", "[6, 4]");
  EXPECT_NE(swapped, first);
  EXPECT_EQ(fixture.Node("a")->chunks->layout().PlaceOf(0, 2).outer, 0U);
  EXPECT_EQ(id_of("[14]", "[6, 4, 4]"), swapped) << "it grew by shards of the last length";
  EXPECT_NE(id_of("[20]", "[6, 4, 4, 6]"), swapped);
}

TEST(Hierarchy, ANodeThatCannotBeUsedIsHiddenWithTheReasonToldOnce) {
  const struct {
    std::string text, report, reason;
  } cases[] = {{"{", "not shown: b/zarr.json: not JSON", "not JSON"},
               {R"({"zarr_format": 3, "node_type": "array", "shape": [1], "data_type": "int8",
           "chunk_grid": {"name": "odd"}, "chunk_key_encoding": "default"})",
                "not shown: b/zarr.json: chunk grid 'odd' is not known", "chunk grid"},
               {ArrayText("[4]", "[4]", Sharding("[3]", kBytesCodec)),
                "b: not shown: inner chunk shape [3] does not divide", "does not divide"}};
  for (const auto& [text, report, reason] : cases) {
    const Fixture fixture;
    fixture.store->Put("b/zarr.json", text);
    for (int i = 0; i < 3; ++i) {
      const NodePtr node = fixture.Node("b");
      for (size_t v = 0; v < AllViews().size(); ++v) {
        ASSERT_TRUE(node->views[v].hidden);
        EXPECT_TRUE(Contains(node->views[v].hidden->message, reason));
        EXPECT_TRUE(node->views[v].documents.empty());
        EXPECT_FALSE(Hierarchy::Shows(*node, "b", v));
      }
      EXPECT_EQ(node->chunks, nullptr);
    }
    ASSERT_EQ(fixture.reports.size(), 1U) << reason;
    EXPECT_TRUE(fixture.reports[0].starts_with(report)) << fixture.reports[0];
  }
}

TEST(Hierarchy, WhatOneViewCannotSayAnotherShows) {
  const Fixture fixture;
  fixture.store->Put(
      "a/zarr.json",
      ArrayText("[4]", "[4]", Sharding("[2]", std::string(kBytesCodec) + R"(, "fancy")")));
  const NodePtr node = fixture.Node("a");
  EXPECT_FALSE(Hierarchy::Shows(*node, "a", kV2));
  EXPECT_TRUE(Hierarchy::Shows(*node, "a", kV3));
  EXPECT_EQ(fixture.reports, Names{"a: not shown in v2, gdal, netcdf: codec 'fancy' is not known"});
}

TEST(Hierarchy, ReasonsAreToldOnceHoweverYoungTheZarrJsonIs) {
  const Fixture fixture;
  fixture.store->Put("b/zarr.json", "{");
  fixture.store->SetTimestampGranularityNs(std::numeric_limits<int64_t>::max());
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(fixture.Node("b")->racy);
  EXPECT_EQ(fixture.reports.size(), 1U);
  fixture.store->Put("b/zarr.json", "{{");
  (void)fixture.Node("b");
  EXPECT_EQ(fixture.reports.size(), 2U) << "another version, another reason";
}

TEST(Hierarchy, AZarrJsonBeyondTheCapIsHidden) {
  const Fixture fixture;
  fixture.store->Put("b/zarr.json", std::string(kMaxMetadataBytes + 1, ' '));
  EXPECT_EQ(fixture.Node("b")->views[kV3].hidden->code, ErrorCode::kTooLarge);
  (void)fixture.Node("b");
  EXPECT_EQ(fixture.reports.size(), 1U);
}

TEST(Hierarchy, ConsolidatedMetadataBeyondTheCapHideNoGroup) {
  const Fixture fixture;
  std::string text = R"({"zarr_format": 3, "node_type": "group", "attributes": {"a": 1},
                         "consolidated_metadata": {"metadata": {"b": {"c": ")";
  text.append(kMaxMetadataBytes, 'x').append(R"("}}}})");
  fixture.store->Put("zarr.json", text);
  const NodePtr group = fixture.Node("");
  ASSERT_NE(group->group(), nullptr);
  EXPECT_EQ(group->group()->attributes, (Json{{"a", 1}}));
  EXPECT_LT(group->memory.bytes(), 1U << 20) << "the text is not kept";
  EXPECT_EQ(fixture.reports, Names{});
}

// --- Change
// -------------------------------------------------------------------------------------------

TEST(Hierarchy, AChangedZarrJsonIsAnotherSnapshotAfterMaxAge) {
  const Fixture fixture;
  fixture.store->Put("a/zarr.json", ArrayJson());
  const NodePtr before = fixture.Node("a");
  EXPECT_EQ(fixture.Node("a"), before);
  Json changed = *ParseJson(ArrayJson(), "a");
  changed["attributes"]["units"] = "m";
  fixture.store->Put("a/zarr.json", DumpJson(changed));
  fixture.store->ResetCounts();
  EXPECT_EQ(fixture.Node("a", hours(1)), before);
  EXPECT_EQ(fixture.Node("a", kAnyAge), before);
  EXPECT_EQ(fixture.store->total_count(), 0U);
  const NodePtr after = fixture.Node("a");
  EXPECT_NE(after, before);
  EXPECT_EQ(after->array()->attributes["units"], "m");
  EXPECT_EQ(after->chunks, before->chunks) << "chunks lie where they lay";
  EXPECT_EQ(fixture.Node("a", kAnyAge), after);
}

TEST(Hierarchy, ADifferentLayoutIsAnotherChunkSource) {
  for (const auto& [member, value] : std::map<std::string, std::string>{
           {"shape", "[6]"}, {"data_type", R"("int8")"}, {"chunk_key_encoding", R"("v2")"}}) {
    const Fixture fixture;
    fixture.store->Put("a/zarr.json", ArrayJson());
    const NodePtr before = fixture.Node("a");
    Json changed = *ParseJson(ArrayJson(), "a");
    changed[member] = *ParseJson(value, "literal");
    fixture.store->Put("a/zarr.json", DumpJson(changed));
    const NodePtr after = fixture.Node("a");
    EXPECT_NE(after->chunks, before->chunks) << member;
    // (Chunks keep their numbers when rows are added, and so does what is cached of them.)
    EXPECT_EQ(after->chunks->id() == before->chunks->id(), member == "shape");
  }
}

TEST(Hierarchy, ThreadsThatSeeTheSameChangeKeepTheChunkSource) {
  const Fixture fixture;
  fixture.store->Put("a/zarr.json", ArrayJson());
  const auto chunks = fixture.Node("a")->chunks;
  std::atomic<bool> stop = false;
  std::atomic<int> others = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      while (!stop) others += fixture.Node("a")->chunks != chunks;
    });
  }
  for (int i = 0; i < 300; ++i) {
    fixture.store->Put("a/zarr.json", ArrayJson() + std::string(static_cast<size_t>(i), ' '));
    std::this_thread::yield();
  }
  stop = true;
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(others, 0);
}

TEST(Hierarchy, ArraysComeAndGo) {
  const Fixture fixture;
  fixture.store->Put("zarr.json", kGroup);
  fixture.store->Put("b/zarr.json", ArrayJson());
  EXPECT_EQ(fixture.Children(""), Names{"b"});
  EXPECT_EQ(fixture.Failure("a"), "not found");
  fixture.store->Put("a/zarr.json", ArrayJson());
  EXPECT_EQ(fixture.Children(""), (Names{"a", "b"}));
  EXPECT_NE(fixture.Node("a")->array(), nullptr);
  fixture.store->Remove("b");
  EXPECT_EQ(fixture.Failure("b", hours(1)), "found");
  EXPECT_EQ(fixture.Failure("b"), "not found");
  EXPECT_EQ(fixture.Failure("b", hours(1)), "not found");
  EXPECT_EQ(fixture.Children(""), Names{"a"});
}

TEST(Hierarchy, ChildrenAreVisitedAsTheyAreRead) {
  const Fixture fixture;
  fixture.store->Put("zarr.json", kGroup);
  for (const char* key : {"a/zarr.json", "b/zarr.json", "d/zarr.json"}) {
    fixture.store->Put(key, ArrayJson());
  }
  fixture.store->PutFolder("c");
  std::vector<Names> folders;
  Names visited;
  const auto visit = [&](const std::string& until) {
    return fixture.hierarchy.VisitChildren(
        *fixture.Node(""), kNow, [&](const Names& names) { folders.push_back(names); },
        [&](const std::string& name, const Result<NodePtr>& child) {
          EXPECT_EQ((*child)->path, name);
          visited.push_back(name);
          return name != until;
        });
  };
  ASSERT_TRUE(visit("b"));
  EXPECT_EQ(folders, (std::vector<Names>{{"a", "b", "c", "d"}}));
  EXPECT_EQ(visited, (Names{"a", "b"}));
  EXPECT_EQ(fixture.store->count(FakeStore::Call::kRead, "d"), 0U);
  ASSERT_TRUE(visit(""));
  EXPECT_EQ(visited, (Names{"a", "b", "a", "b", "d"})) << "c is no node";
}

TEST(Hierarchy, AGroupThatBecomesAnArrayNoLongerListsWhatLiesBelow) {
  const Fixture fixture;
  fixture.store->Put("g/zarr.json", kGroup);
  fixture.store->Put("g/a/zarr.json", ArrayJson());
  EXPECT_NE(fixture.Node("g/a")->array(), nullptr);
  fixture.store->Put("g/zarr.json", ArrayJson());
  EXPECT_EQ(fixture.Children("g"), Names{});
  EXPECT_EQ(fixture.Failure("g/a"), "found");
}

TEST(Hierarchy, FailuresOfTheStoreAreNotRemembered) {
  const Fixture fixture;
  fixture.store->Put("zarr.json", kGroup);
  fixture.store->Put("a/zarr.json", ArrayJson());
  fixture.store->FailAllWith("a", {ErrorCode::kIo, "pulled"});
  EXPECT_EQ(fixture.Failure("a"), "input/output error");
  EXPECT_EQ(fixture.Children(""), Names{"a"}) << "listed: using it gives the error";
  fixture.store->ClearFaults();
  EXPECT_NE(fixture.Node("a")->array(), nullptr);
  fixture.store->FailAllWith("a", {ErrorCode::kTimedOut, "pulled"});
  EXPECT_EQ(fixture.Failure("a"), "timed out");
  EXPECT_EQ(fixture.Failure("a", hours(1)), "found");
  EXPECT_EQ(fixture.reports.size(), 0U);
}

TEST(Hierarchy, AThreadThatMayNotWaitIsAnsweredAtOnce) {
  const Fixture fixture(/*gated=*/true);
  fixture.store->Put("zarr.json", kGroup);
  fixture.store->Put("a/zarr.json", ArrayJson());
  const NodePtr root = fixture.Node("");
  for (const Call call : FakeStore::kAllCalls) fixture.store->Block(call, "");
  {
    const NoWaiting no_waiting;
    EXPECT_EQ(fixture.Node("", hours(1)), root);
    EXPECT_EQ(fixture.Failure(""), "would block");
    EXPECT_EQ(fixture.Failure("a", hours(1)), "would block");
    EXPECT_EQ(fixture.hierarchy.Children(*root, hours(1)).error().code, ErrorCode::kWouldBlock);
  }
  fixture.store->ClearFaults();
  EXPECT_NE(fixture.Node("a")->array(), nullptr);
}

// --- Zarr v2
// --------------------------------------------------------------------------------------------

constexpr std::string_view kZgroupText = R"({"zarr_format": 2})";
constexpr std::string_view kZarrayText = R"({"zarr_format": 2, "shape": [4], "chunks": [2],
    "dtype": "<i4", "compressor": null, "fill_value": null, "order": "C", "filters": null})";

TEST(HierarchyOfV2, GroupsAndArraysHaveTheirDocumentsInEveryView) {
  const Fixture fixture;
  fixture.store->Put(".zgroup", kZgroupText);
  fixture.store->Put(".zattrs", R"({"title": "x"})");
  fixture.store->Put("g/.zgroup", kZgroupText);
  fixture.store->Put("g/a/.zarray", kZarrayText);
  fixture.store->Put("g/a/.zattrs", R"({"units": "m", "_ARRAY_DIMENSIONS": ["x"]})");
  fixture.store->Put("g/a/0/x", "no node");
  const NodePtr root = fixture.Node("");
  ASSERT_NE(root->group(), nullptr);
  EXPECT_TRUE(root->is_v2());
  EXPECT_EQ(root->group()->attributes["title"], "x");
  EXPECT_EQ(fixture.Children(""), Names{"g"});
  EXPECT_EQ(fixture.Children("g"), Names{"a"});
  const NodePtr array = fixture.Node("g/a");
  ASSERT_NE(array->array(), nullptr);
  EXPECT_TRUE(array->is_v2());
  EXPECT_EQ(array->array()->dimension_names->at(0), "x");
  EXPECT_EQ(array->views[kV2].documents[0].name, ".zarray");
  EXPECT_EQ(array->views[kV3].documents[0].name, "zarr.json");
  EXPECT_EQ(array->views[kV3].array->naming, (ChunkNaming{false, '.'}));
  EXPECT_EQ(fixture.Failure("g/a/0"), "not found");
  EXPECT_EQ(fixture.reports, Names{});
}

TEST(HierarchyOfV2, NodesOfBothFormatsMix) {
  const Fixture fixture;
  fixture.store->Put("zarr.json", kGroup);
  fixture.store->Put("old/.zgroup", kZgroupText);
  fixture.store->Put("old/new/zarr.json", ArrayJson());
  fixture.store->Put("old/old/.zarray", kZarrayText);
  fixture.store->Put("both/zarr.json", ArrayJson());
  fixture.store->Put("both/.zarray", "{");
  fixture.store->Put("array and group/.zgroup", kZgroupText);
  fixture.store->Put("array and group/.zarray", kZarrayText);
  EXPECT_EQ(fixture.Children(""), (Names{"array and group", "both", "old"}));
  EXPECT_EQ(fixture.Children("old"), (Names{"new", "old"}));
  EXPECT_FALSE(fixture.Node("")->is_v2());
  EXPECT_FALSE(fixture.Node("old/new")->is_v2());
  EXPECT_TRUE(fixture.Node("old/old")->is_v2());
  EXPECT_FALSE(fixture.Node("both")->is_v2());
  EXPECT_NE(fixture.Node("array and group")->array(), nullptr);
}

TEST(HierarchyOfV2, AFolderAboveAV2NodeIsAnImplicitGroup) {
  const Fixture fixture;
  fixture.store->Put("x/a/.zarray", kZarrayText);
  fixture.store->Put("y/g/.zgroup", kZgroupText);
  fixture.store->Put("z/.zattrs", "{}");
  EXPECT_TRUE(fixture.Node("x")->implicit);
  EXPECT_TRUE(fixture.Node("y")->implicit);
  EXPECT_EQ(fixture.Failure("z"), "not found");
  for (const auto& [name, text] : {std::pair(".zgroup", kZgroupText), {".zarray", kZarrayText}}) {
    fixture.store->Put("x/" + std::string(name), text);
    EXPECT_FALSE(fixture.Node("x")->implicit) << name;
  }
  EXPECT_EQ(fixture.Children("x"), Names{}) << "x is an array now";
}

TEST(HierarchyOfV2, NamesAreThoseOfItsOwnRules) {
  const Fixture fixture;
  fixture.store->Put(".zgroup", kZgroupText);
  for (const char* name : {"a", "__a", ".zfolder", ".zarray", "..."}) {
    fixture.store->Put(std::string(name) + "/.zarray", kZarrayText);
  }
  EXPECT_EQ(fixture.Children(""), (Names{"__a", "a"}));
  EXPECT_EQ(fixture.Failure(".zfolder"), "not found");
  (void)fixture.Children("");
  Names told = fixture.reports;
  std::ranges::sort(told);
  EXPECT_EQ(told, (Names{"...: not shown: not a valid node name",
                         ".zarray: not shown: not a valid node name",
                         ".zfolder: not shown: not a valid node name"}))
      << "each once";
}

TEST(HierarchyOfV2, AChangeOfAnyDocumentIsAnotherSnapshot) {
  const Fixture fixture;
  fixture.store->Put("a/.zarray", kZarrayText);
  NodePtr node = fixture.Node("a");
  const auto expect_another = [&](std::string_view when) {
    const NodePtr before = std::exchange(node, fixture.Node("a"));
    EXPECT_NE(node, before) << when;
    EXPECT_EQ(fixture.Node("a"), node) << when;
  };
  EXPECT_EQ(fixture.Node("a"), node);
  EXPECT_EQ(node->array()->attributes.size(), 0U);

  fixture.store->Put("a/.zattrs", R"({"n": 1})");
  expect_another(".zattrs appears");
  EXPECT_EQ(node->array()->attributes["n"], 1);
  fixture.store->RewriteInPlace("a/.zattrs", R"({"n": 2})");
  expect_another(".zattrs changes");
  EXPECT_EQ(node->array()->attributes["n"], 2);
  const auto chunks = node->chunks;
  fixture.store->Remove("a/.zattrs");
  expect_another(".zattrs vanishes");
  EXPECT_EQ(node->array()->attributes.size(), 0U);
  EXPECT_EQ(node->chunks, chunks) << "chunks lie where they lay";

  Json longer = *ParseJson(kZarrayText, "a");
  longer["shape"] = Json::array({6});
  fixture.store->Put("a/.zarray", DumpJson(longer));
  expect_another(".zarray changes");
  EXPECT_EQ(node->array()->shape[0], 6U);

  fixture.store->Put("a/zarr.json", ArrayJson());
  expect_another("zarr.json appears");
  EXPECT_FALSE(node->is_v2());
  fixture.store->Put("a/.zattrs", R"({"n": 3})");
  EXPECT_EQ(fixture.Node("a"), node) << "a v3 node has no .zattrs";
  fixture.store->Remove("a/zarr.json");
  expect_another("zarr.json vanishes");
  EXPECT_EQ(node->array()->attributes["n"], 3);

  fixture.store->Put("a/.zgroup", kZgroupText);
  EXPECT_EQ(fixture.Node("a"), node) << "it is an array still";
  fixture.store->Remove("a/.zarray");
  expect_another(".zarray vanishes");
  EXPECT_NE(node->group(), nullptr);
  fixture.store->Put("a/.zarray", kZarrayText);
  expect_another(".zarray appears");
  EXPECT_NE(node->array(), nullptr);
  fixture.store->Remove("a/.zarray");
  fixture.store->Remove("a/.zgroup");
  EXPECT_EQ(fixture.Failure("a"), "not found");
}

TEST(HierarchyOfV2, TheVersionIsThatOfTheDocumentThatChangedLast) {
  const Fixture fixture;
  fixture.store->Put("a/.zarray", kZarrayText);
  const Version first = fixture.Node("a")->info.version;
  fixture.store->Put("a/.zattrs", "{}");
  const Version second = fixture.Node("a")->info.version;
  EXPECT_GT(second.ctime_ns, first.ctime_ns);
  fixture.store->Put("a/.zarray", kZarrayText);
  EXPECT_GT(fixture.Node("a")->info.version.ctime_ns, second.ctime_ns);
}

TEST(HierarchyOfV2, AYoungDocumentIsReadAgain) {
  const Fixture fixture;
  fixture.store->Put("a/.zarray", kZarrayText);
  fixture.store->Put("a/.zattrs", "{}");
  EXPECT_FALSE(fixture.Node("a")->racy);
  Version young;
  young.ctime_ns =
      std::chrono::system_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
  fixture.store->SetVersion("a/.zattrs", young);
  EXPECT_TRUE(fixture.Node("a")->racy);
}

TEST(HierarchyOfV2, WhatCannotBeUsedIsHiddenWithTheReasonToldOnce) {
  const struct {
    std::string zarray, zattrs, reason;
  } cases[] = {
      {"{", "{}", "not shown: b/.zarray: not JSON"},
      {std::string(kZarrayText), "{", "not shown: b/.zattrs: not JSON"},
      {R"({"zarr_format": 2, "shape": [], "chunks": [], "dtype": "|O", "compressor": null,
                    "fill_value": null, "order": "C", "filters": [{"id": "pickle"}]})",
       "{}",
       "b: not shown in v3, gdal, netcdf: b/.zarray: dtype \"|O\" with the codec 'pickle' is "
       "not known"}};
  for (const auto& [zarray, zattrs, reason] : cases) {
    const Fixture fixture;
    fixture.store->Put("b/.zarray", zarray);
    fixture.store->Put("b/.zattrs", zattrs);
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(fixture.Node("b")->views[kV3].hidden);
    EXPECT_EQ(fixture.Node("b")->document, ".zarray");
    ASSERT_EQ(fixture.reports.size(), 1U) << reason;
    EXPECT_TRUE(fixture.reports[0].starts_with(reason)) << fixture.reports[0];
  }
}

std::string DocumentOf(const Node& node, std::string_view name) {
  for (const Document& document : node.views[kV2].documents) {
    if (document.name == name) return document.bytes;
  }
  return "no such document";
}

TEST(HierarchyOfV2, StoredDocumentsArePassedThroughAndNoneIsMade) {
  const Fixture fixture;
  fixture.store->Put(".zgroup", "{\"zarr_format\":2 }");
  fixture.store->Put("a/.zarray", kZarrayText);
  fixture.store->Put("a/.zattrs", "{\"n\":1.50}");
  fixture.store->Put("b/.zarray", kZarrayText);
  EXPECT_EQ(DocumentOf(*fixture.Node(""), ".zgroup"), "{\"zarr_format\":2 }");
  EXPECT_EQ(DocumentOf(*fixture.Node("a"), ".zarray"), kZarrayText);
  EXPECT_EQ(DocumentOf(*fixture.Node("a"), ".zattrs"), "{\"n\":1.50}");
  for (const char* path : {"", "b"}) {
    EXPECT_EQ(fixture.Node(path)->views[kV2].documents.size(), 1U) << path;
  }
  fixture.store->Put("b/.zattrs", "{}");
  EXPECT_EQ(DocumentOf(*fixture.Node("b"), ".zattrs"), "{}");
}

TEST(Hierarchy, ANodeBelowAnArrayIsFoundByItsPathAndNotListed) {
  const Fixture fixture;
  fixture.store->Put("a/.zarray", kZarrayText);
  for (const std::string path : {"a/b", "a/b/c", "a/c", "a/0", "a/1.0"}) {
    fixture.store->Put(path + "/.zarray", kZarrayText);
  }
  EXPECT_NE(fixture.Node("a/b")->array(), nullptr);
  for (const std::string path : {"a/c", "a/0", "a/1.0", "a/b/c"}) {
    const auto none = fixture.hierarchy.Get(path, kNow);
    EXPECT_TRUE(!none && none.error().code == ErrorCode::kNotFound) << path;
  }
  EXPECT_TRUE(fixture.hierarchy.Children(*fixture.Node("a"), kNow)->value.empty());
}

TEST(HierarchyOfV2, ChunksInFoldersAreFoundWhereNothingIsSaidOfThem) {
  for (const bool is_nested : {false, true}) {
    const Fixture fixture;
    Json zarray = *ParseJson(kZarrayText, "");
    zarray.erase("dimension_separator");
    zarray["shape"] = zarray["chunks"] = {2, 2};
    fixture.store->Put("a/.zarray", DumpJson(zarray));
    fixture.store->Put(is_nested ? "a/0/0" : "a/0.0", "?");
    const NodePtr array = fixture.Node("a");
    EXPECT_EQ(DocumentOf(*array, ".zarray"), DumpJson(zarray));
    EXPECT_EQ(array->views[kV2].array->naming.separator, is_nested ? '/' : '.');
    EXPECT_TRUE(
        array->chunks->Locate(InnerIndex{0}, kNow, /*may_read=*/true, Sizes::kAny)->location);
  }
}

TEST(HierarchyOfV2, ChunksInFoldersAreFoundThoughTheFirstOneIsMissing) {
  Json zarray = *ParseJson(kZarrayText, "");
  zarray.erase("dimension_separator");
  zarray["shape"] = {4, 2};
  zarray["chunks"] = {1, 1};
  for (const std::string key : {"a/3/1", "a/3.1"}) {
    for (const bool is_fast : {true, false}) {
      const Fixture fixture;
      fixture.store->SetAnswersFast(is_fast);
      fixture.store->Put("a/.zarray", DumpJson(zarray));
      fixture.store->Put(key, "?");
      const NodePtr array = fixture.Node("a");
      ASSERT_NE(array->chunks, nullptr);
      const bool is_nested = is_fast && key == "a/3/1";
      EXPECT_EQ(array->views[kV2].array->naming.separator, is_nested ? '/' : '.');
      const auto found = [&](uint64_t chunk) {
        const auto located =
            array->chunks->Locate(InnerIndex{chunk}, kNow, /*may_read=*/true, Sizes::kAny);
        return located && located->location;
      };
      EXPECT_FALSE(found(0));
      EXPECT_TRUE(found(7)) << key;
    }
  }
}

TEST(HierarchyOfV2, ASeparatorIsUndecidedAgainOnceNoChunkShowsIt) {
  Json zarray = *ParseJson(kZarrayText, "");
  zarray.erase("dimension_separator");
  zarray["shape"] = zarray["chunks"] = {2, 2};
  const Fixture fixture;
  fixture.store->Put("a/.zarray", DumpJson(zarray));
  const auto is_found = [&] {
    const auto located = fixture.Node("a")->chunks->Locate(InnerIndex{0}, kNow, true, Sizes::kAny);
    return located && located->location;
  };
  EXPECT_FALSE(is_found());
  fixture.store->Put("a/0/0", "?");
  EXPECT_TRUE(is_found());
  fixture.store->Remove("a/0/0");
  fixture.store->Put("a/.zarray", DumpJson(zarray));
  EXPECT_FALSE(is_found());
  fixture.store->Put("a/0.0", "?");
  EXPECT_TRUE(is_found());
}

TEST(HierarchyOfV2, AnArrayThatOnlyItsReadersKnowIsShownToThem) {
  const Fixture fixture;
  fixture.store->Put(".zgroup", kZgroupText);
  Json unknown = *ParseJson(kZarrayText, "");
  unknown["compressor"] = Json{{"id", "foo"}};
  fixture.store->Put("a/.zarray", DumpJson(unknown));
  fixture.store->Put("a/0", "?");
  const NodePtr array = fixture.Node("a");
  EXPECT_EQ(DocumentOf(*array, ".zarray"), DumpJson(unknown));
  EXPECT_TRUE(Hierarchy::Shows(*array, "a", kV2));
  EXPECT_FALSE(Hierarchy::Shows(*array, "a", kV3));
  EXPECT_EQ(array->views[kV3].hidden->message, "a/.zarray: codec 'foo' is not known");
  EXPECT_TRUE(array->chunks->Locate(InnerIndex{0}, kNow, /*may_read=*/true, Sizes::kAny)->location);
  EXPECT_EQ(fixture.Children(""), Names{"a"});
  EXPECT_EQ(fixture.reports,
            Names{"a: not shown in v3, gdal, netcdf: a/.zarray: codec 'foo' is not "
                  "known"});
}

TEST(HierarchyOfV2, ADamagedMemberLeavesTheArrayToV2AndIsDamageElsewhere) {
  const Fixture fixture;
  Json odd = *ParseJson(kZarrayText, "");
  odd["fill_value"] = "no number";
  fixture.store->Put("a/.zarray", DumpJson(odd));
  const NodePtr array = fixture.Node("a");
  EXPECT_EQ(DocumentOf(*array, ".zarray"), DumpJson(odd));
  ASSERT_TRUE(array->views[kV3].hidden);
  EXPECT_EQ(array->views[kV3].hidden->code, ErrorCode::kDamaged);
}

TEST(HierarchyOfV2, AttributesThatAreHalfWrittenMakeTheArrayUnreadable) {
  const Fixture fixture;
  fixture.store->Put("a/.zarray", kZarrayText);
  fixture.store->Put("a/.zattrs", "{\"half");
  EXPECT_NE(fixture.Node("a")->unreadable(), nullptr);
}

TEST(HierarchyOfV2, AttributesThatCannotBeUsedHideNothing) {
  for (const std::string& zattrs : {std::string(), std::string("{\"a\": [1, "), std::string("[]"),
                                    std::string(kMaxMetadataBytes + 1, ' ')}) {
    const Fixture fixture;
    fixture.store->Put(".zgroup", kZgroupText);
    fixture.store->Put(".zattrs", zattrs);
    fixture.store->Put("a/.zarray", kZarrayText);
    fixture.store->Put("a/.zattrs", R"({"n": 1})");
    for (int i = 0; i < 3; ++i) {
      EXPECT_EQ(fixture.Children(""), Names{"a"});
      for (const NodeView& view : fixture.Node("")->views) EXPECT_FALSE(view.hidden);
    }
    EXPECT_EQ(fixture.Node("a")->array()->attributes["n"], 1);
    ASSERT_EQ(fixture.reports.size(), 1U);
    EXPECT_TRUE(fixture.reports[0].starts_with(".zattrs: ")) << fixture.reports[0];
    fixture.store->Put(".zattrs", R"({"title": "x"})");
    EXPECT_EQ(fixture.Node("")->group()->attributes["title"], "x") << "and they are read anew";
  }
}

TEST(Hierarchy, AttributesThatCannotBeUsedHideNothing) {
  const Fixture fixture;
  fixture.store->Put("zarr.json",
                     R"({"zarr_format": 3, "node_type": "group", "attributes": {"a": "\ud83d"}})");
  fixture.store->Put("a/zarr.json", ArrayText("[4]", "[4]", kBytesCodec, R"({"attributes": 1})"));
  EXPECT_EQ(fixture.Children(""), Names{"a"});
  EXPECT_NE(fixture.Node("a")->chunks, nullptr);
  EXPECT_EQ(fixture.reports,
            (Names{"zarr.json: half a surrogate pair is read as U+FFFD",
                   "a/zarr.json: attributes are left out: expected an object, found 1"}));
}

TEST(HierarchyOfV2, AV3NodeCostsOneStatStill) {
  const Fixture fixture;
  fixture.store->Put("zarr.json", kGroup);
  fixture.store->Put("old/.zarray", kZarrayText);
  (void)fixture.Node("");
  (void)fixture.Node("old");
  fixture.store->ResetCounts();
  (void)fixture.Node("");
  EXPECT_EQ(fixture.store->total_count(), 1U);
  fixture.store->ResetCounts();
  (void)fixture.Node("old");
  EXPECT_EQ(fixture.store->count(Call::kStat, "old"), 3U);
}

TEST(HierarchyOfV2, AnAttributeFileThatCannotBeReadFailsTheNode) {
  const Fixture fixture;
  fixture.store->Put("a/.zarray", kZarrayText);
  fixture.store->Put("a/.zattrs", "{}");
  fixture.store->FailAllWith("a/.zattrs", {ErrorCode::kIo, "pulled"});
  EXPECT_EQ(fixture.Failure("a"), "input/output error");
  fixture.store->ClearFaults();
  EXPECT_NE(fixture.Node("a")->array(), nullptr);
  fixture.store->FailAllWith("a/zarr.json", {ErrorCode::kIo, "pulled"});
  EXPECT_EQ(fixture.Failure("a"), "input/output error") << "it might be a v3 node by now";
}

// --- Names
// ----------------------------------------------------------------------------------------------

TEST(Hierarchy, FoldersWhoseNamesNoNodeMayHaveAreNotShownAndSaidToBe) {
  const Fixture fixture;
  fixture.store->Put("zarr.json", kGroup);
  for (const char* name : {"b", "a", "...", "_fine", ".fine", "B", "10", "9"}) {
    fixture.store->Put(std::string(name) + "/zarr.json", ArrayJson());
  }
  fixture.store->Put("..../notes.txt", "no node, and nothing to be said of it");
  EXPECT_EQ(fixture.Children(""), (Names{".fine", "10", "9", "B", "_fine", "a", "b"}));
  for (const char* path : {"...", "..", ".", "zarr.json", "a/../b", "/", "a/", "a//b", ".../x"}) {
    EXPECT_EQ(fixture.Failure(path), "not found") << path;
  }
  (void)fixture.Children("");
  EXPECT_EQ(fixture.reports,
            (Names{"...: not shown: not a valid node name",
                   ".fine: not shown in netcdf: its readers do not accept the name"}))
      << "once";
}

// The specification reserves the names; xarray and AnnData write them and every reader shows them.
TEST(Hierarchy, NamesThatBeginWithTwoUnderscoresAreShown) {
  const Fixture fixture;
  fixture.store->Put("zarr.json", kGroup);
  fixture.store->Put("__xarray_dataarray_variable__/zarr.json", ArrayJson());
  fixture.store->Put("implicit/__categories/__deep/zarr.json", ArrayJson());
  EXPECT_EQ(fixture.Children(""), (Names{"__xarray_dataarray_variable__", "implicit"}));
  EXPECT_EQ(fixture.Children("implicit"), Names{"__categories"});
  const NodePtr node = fixture.Node("__xarray_dataarray_variable__");
  for (size_t v = 0; v < AllViews().size(); ++v) {
    EXPECT_TRUE(Hierarchy::Shows(*node, "__xarray_dataarray_variable__", v));
  }
  EXPECT_EQ(fixture.reports, Names{});
}

TEST(Hierarchy, ANodeNamedLikeAV2FileIsNotInTheV2View) {
  const Fixture fixture;
  fixture.store->Put("zarr.json", kGroup);
  fixture.store->Put(".zattrs/zarr.json", ArrayJson());
  EXPECT_EQ(fixture.Children(""), Names{".zattrs"});
  const NodePtr node = fixture.Node(".zattrs");
  EXPECT_FALSE(Hierarchy::Shows(*node, ".zattrs", kV2));
  EXPECT_TRUE(Hierarchy::Shows(*node, ".zattrs", kV3));
  (void)fixture.Children("");
  EXPECT_EQ(fixture.reports,
            Names{".zattrs: not shown in v2, gdal, netcdf: its readers do not accept the name"});
  // Readers look such names up in any group, so only a zarr.json makes them nodes.
  fixture.store->Put(".zgroup/.zgroup", kZgroupText);
  fixture.store->Put(".zmetadata/below/zarr.json", ArrayJson());
  EXPECT_EQ(fixture.Children(""), Names{".zattrs"});
}

TEST(Hierarchy, AGroupWhoseNameAReaderCannotTakeIsSaidNotToBeShown) {
  const Fixture fixture;
  fixture.store->Put("zarr.json", kGroup);
  fixture.store->Put(" g/a/zarr.json", ArrayJson());
  (void)fixture.Children("");
  EXPECT_EQ(fixture.reports, Names{" g: not shown in netcdf: its readers do not accept the name"});
}

TEST(Hierarchy, ArraysBelowOmeGroupsKnowIt) {
  for (const char* attribute :
       {R"("ome": {"version": "0.5"})",
        R"("multiscales": [{"version": "0.4", "datasets": [{"path": "0"}]}])",
        R"("plate": {"wells": [{"path": "A/1"}]})"}) {
    const Fixture fixture;
    fixture.store->Put("image/zarr.json", fmt::format(R"({{"zarr_format": 3, "node_type": "group",
                                        "attributes": {{{}}}}})",
                                                      attribute));
    fixture.store->Put("image/labels/cells/0/zarr.json", ArrayJson());
    fixture.store->Put("other/zarr.json", ArrayJson());
    EXPECT_TRUE(fixture.Node("image")->below_ome);
    EXPECT_FALSE(fixture.Node("image")->from_parent.below_ome);
    EXPECT_TRUE(fixture.Node("image/labels/cells/0")->from_parent.below_ome);
    EXPECT_EQ(fixture.Node("image/labels/cells/0")->views[kV2].array->naming.separator, '/');
    EXPECT_EQ(fixture.Node("other")->views[kV2].array->naming.separator, '.');
    // No OME group any more: what lies below is shown otherwise.
    fixture.store->Put("image/zarr.json", kGroup);
    EXPECT_EQ(fixture.Node("image/labels/cells/0")->views[kV2].array->naming.separator, '.');
  }
}

// --- Consolidated documents

constexpr std::string_view kConsolidatedGroup =
    R"({"zarr_format": 3, "node_type": "group", "attributes": {"a": 1},
        "consolidated_metadata": {"kind": "inline", "must_understand": false, "metadata": {"old": {}}}})";

Json TextOf(const Fixture& fixture, const std::string& path, size_t view) {
  const auto consolidated = fixture.consolidated.Get(fixture.Node(path), view, kNow);
  EXPECT_TRUE(consolidated) << (consolidated ? "" : consolidated.error().message);
  if (!consolidated || (*consolidated)->is_too_large) return "none";
  const auto text =
      *fixture.consolidated.Text(fixture.Node(path), view, (*consolidated)->text_number);
  EXPECT_EQ(text->size(), (*consolidated)->size);
  const auto json = ParseJson(*text, path);
  EXPECT_TRUE(json) << *text;
  return json ? *json : Json();
}

Names Keys(const Json& json) {
  Names keys;
  for (const auto& [key, value] : json.items()) keys.push_back(key);
  return keys;
}

void PutTree(FakeStore& store) {
  store.Put("zarr.json", kConsolidatedGroup);
  store.Put("a/zarr.json", ArrayJson());
  store.Put("g/zarr.json", kGroup);
  store.Put("g/b/zarr.json", ArrayJson());
  store.Put("g/unknown/zarr.json", ArrayText("[4]", "[4]", R"({"name": "no such codec"})"));
  store.Put("no node/notes.txt", "");
}

TEST(Hierarchy, ConsolidatedDocumentRepeatsThoseOfAllNodesShown) {
  const Fixture fixture;
  PutTree(*fixture.store);
  EXPECT_EQ(fixture.Node("")->views[kV2].consolidated, ".zmetadata");
  EXPECT_EQ(fixture.Node("")->views[kV3].consolidated, "zarr.json");
  EXPECT_EQ(fixture.Node("g")->views[kV2].consolidated, ".zmetadata");
  EXPECT_EQ(fixture.Node("g")->views[kV3].consolidated, "") << "the stored group has none";
  EXPECT_EQ(fixture.Node("a")->views[kV2].consolidated, "");

  const Json v2 = TextOf(fixture, "", kV2);
  EXPECT_EQ(v2.value("zarr_consolidated_format", 0), 1);
  EXPECT_EQ(Keys(v2["metadata"]), (Names{".zgroup", ".zattrs", "a/.zarray", "a/.zattrs",
                                         "g/.zgroup", "g/.zattrs", "g/b/.zarray", "g/b/.zattrs"}));
  for (const Document& document : fixture.Node("g/b")->views[kV2].documents) {
    EXPECT_EQ(v2["metadata"]["g/b/" + document.name], *ParseJson(document.bytes, ""));
  }
  EXPECT_EQ(Keys(TextOf(fixture, "g", kV2)["metadata"]),
            (Names{".zgroup", ".zattrs", "b/.zarray", "b/.zattrs"}));

  const Json v3 = TextOf(fixture, "", kV3);
  EXPECT_EQ(v3["attributes"], Json({{"a", 1}}));
  const Json& inner = v3["consolidated_metadata"];
  EXPECT_EQ(inner["kind"], "inline");
  EXPECT_EQ(inner["must_understand"], false);
  EXPECT_EQ(Keys(inner["metadata"])[0], "a");
  EXPECT_FALSE(inner["metadata"].contains("old")) << "made from the files, not from what it was";
  EXPECT_EQ(inner["metadata"]["g/b"],
            *ParseJson(fixture.Node("g/b")->views[kV3].documents[0].bytes, ""));
}

TEST(Hierarchy, ConsolidatedDocumentIsTheSameUntilSomethingBelowChanges) {
  const Fixture fixture;
  PutTree(*fixture.store);
  const auto get = [&] { return *fixture.consolidated.Get(fixture.Node(""), kV2, kNow); };
  const auto first = get();
  EXPECT_EQ(get(), first);
  fixture.store->Put("g/zarr.json", kGroup);  // the same text
  const auto same = get();
  EXPECT_EQ(same->text_number, first->text_number);
  fixture.store->Put("g/zarr.json", kConsolidatedGroup);  // other attributes
  const auto other = get();
  EXPECT_NE(other->text_number, first->text_number);
  EXPECT_TRUE(fixture.consolidated.Text(fixture.Node(""), kV2, first->text_number))
      << "for who has it open";
  fixture.store->Remove("g/b");
  EXPECT_EQ(Keys(TextOf(fixture, "g", kV2)["metadata"]), (Names{".zgroup", ".zattrs"}));
}

TEST(Hierarchy, WhatIsNotKeptIsReadAgainAndToldOnce) {
  Fixture fixture(false, {.node_cache_bytes = 1});
  PutTree(*fixture.store);
  const auto first = *fixture.consolidated.Get(fixture.Node(""), kV2, kNow);
  const size_t told = fixture.reports.size();
  EXPECT_GT(told, 0U);
  // (Each split of the cache keeps its newest entry: more of them than there are splits.)
  for (int i = 0; i < 200; ++i) {
    fixture.store->Put(fmt::format("more/{}/zarr.json", i), ArrayJson());
    (void)fixture.Node(fmt::format("more/{}", i));
  }
  std::weak_ptr<const Node> node = fixture.Node("g/b");
  for (int i = 0; i < 200; ++i) (void)fixture.Node(fmt::format("more/{}", i));
  EXPECT_TRUE(node.expired()) << "nobody holds it";
  fixture.store->Remove("more");
  EXPECT_EQ((*fixture.consolidated.Get(fixture.Node(""), kV2, kNow))->text_number,
            first->text_number);
  EXPECT_EQ(fixture.reports.size(), told);
}

TEST(Hierarchy, ConsolidatedDocumentIsLeftOutAboveItsLimit) {
  for (const size_t limit : {4U, 3U, 0U}) {
    Fixture fixture(false, {.consolidated_max = limit});
    PutTree(*fixture.store);
    fixture.store->Remove("g/unknown");
    fixture.store->Put("g/c/zarr.json", ArrayJson());
    if (limit == 0) {
      EXPECT_EQ(fixture.Node("")->views[kV2].consolidated, "");
      EXPECT_EQ(fixture.Node("")->views[kV3].consolidated, "");
      continue;
    }
    const bool is_left_out = limit < 4;  // a, g, g/b, g/c
    EXPECT_EQ(TextOf(fixture, "", kV2) == "none", is_left_out);
    EXPECT_EQ(TextOf(fixture, "", kV2) == "none", is_left_out);
    EXPECT_EQ(TextOf(fixture, "", kV3) == "none", is_left_out);
    EXPECT_NE(TextOf(fixture, "g", kV2), "none");
    EXPECT_EQ(fixture.reports.size(), is_left_out ? 2U : 0U) << "told once in each view";
  }
}

TEST(MadeTexts, ATextLargerThanTheCacheIsMadeOnceForAllItsReads) {
  MadeTexts texts;
  MadeDocument document;
  texts.Keep(std::string(MadeTexts::kBytes + 1, 'x'), document, {});
  int made = 0;
  const auto make = [&](MadeTexts::Text&) -> Result<uint64_t> { return ++made; };
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(texts.Get(document.text_number, "", make));
  EXPECT_EQ(made, 0);
  texts.Sweep();
  texts.Sweep();
  EXPECT_FALSE(texts.Get(document.text_number, "", make));
}

TEST(HierarchyOfV2, ZmetadataIsWhereTheSourceHasOneAndMadeOfTheDocumentsServed) {
  for (const size_t limit : {4096U, 1U, 0U}) {
    const Fixture fixture(false, {.consolidated_max = limit});
    fixture.store->Put(".zgroup", kZgroupText);
    fixture.store->Put(".zmetadata", R"({"zarr_consolidated_format": 1, "metadata": {"old": {}}})");
    fixture.store->Put("a/.zarray", kZarrayText);
    fixture.store->Put("a/.zattrs", "{\"caf\xc3\xa9\": 1}");
    fixture.store->Put("g/.zgroup", kZgroupText);
    fixture.store->Put("g/b/.zarray", kZarrayText);
    fixture.store->Put("g/b/.zattrs", "{}");
    EXPECT_EQ(fixture.Node("")->views[kV2].consolidated, ".zmetadata");
    EXPECT_EQ(fixture.Node("g")->views[kV2].consolidated, "");
    const Json json = TextOf(fixture, "", kV2);
    ASSERT_TRUE(json.is_object()) << limit;
    EXPECT_EQ(Keys(json["metadata"]), (Names{".zgroup", "a/.zarray", "a/.zattrs", "g/.zgroup",
                                             "g/b/.zarray", "g/b/.zattrs"}));
    EXPECT_EQ(json["metadata"]["a/.zarray"], *ParseJson(kZarrayText, ""));
    EXPECT_EQ(json["metadata"]["a/.zattrs"], (Json{{"caf\xc3\xa9", 1}}));
    fixture.store->Remove(".zmetadata");
    EXPECT_EQ(fixture.Node("")->views[kV2].consolidated, "");
  }
}

TEST(Hierarchy, ConsolidatedDocumentFailsRatherThanLeaveOutWhatCannotBeReadNow) {
  const Fixture fixture;
  PutTree(*fixture.store);
  fixture.store->FailAllWith("g/b/zarr.json", {ErrorCode::kIo, "cable pulled"});
  const auto failed = fixture.consolidated.Get(fixture.Node(""), kV2, kNow);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, ErrorCode::kIo);
  fixture.store->FailAllWith("g/b/zarr.json", {ErrorCode::kPermissionDenied, "not for you"});
  EXPECT_FALSE(TextOf(fixture, "", kV2)["metadata"].contains("g/b/.zarray"));
  fixture.store->ClearFaults();
  fixture.store->Put("g/b/zarr.json", "{\"zarr_format\": 3");
  EXPECT_FALSE(fixture.consolidated.Get(fixture.Node(""), kV2, kNow));
}

TEST(Hierarchy, ConsolidatedDocumentOfAMountForOthersRepeatsNothingThatIsLessOpenThanItsGroup) {
  struct Case {
    uint32_t mode, uid;
    bool is_left_out;
  };
  for (const bool is_for_others : {false, true}) {
    for (const auto& [mode, uid, is_left_out] :
         {Case{0444, 0, false}, Case{0644, 0, false}, Case{0440, 0, true}, Case{0400, 0, true},
          Case{0444, 7, false}, Case{0440, 7, true}}) {
      Names notes;
      const Fixture fixture(false,
                            {.on_note = [&](const Error& note) { notes.push_back(note.message); },
                             .is_for_others = is_for_others});
      PutTree(*fixture.store);
      fixture.store->SetOwner("zarr.json", 0644, 0, 0);
      for (const char* key : {"a/zarr.json", "g/zarr.json"}) {
        fixture.store->SetOwner(key, 0644, 0, 0);
      }
      fixture.store->SetOwner("g/b/zarr.json", mode, uid, 0);
      const Json nodes = TextOf(fixture, "", kV2)["metadata"];
      EXPECT_EQ(nodes.contains("g/b/.zarray"), !(is_left_out && is_for_others)) << mode << uid;
      EXPECT_TRUE(nodes.contains("g/.zgroup"));
      const bool is_said = std::ranges::any_of(
          notes, [](const auto& note) { return note.starts_with("g/b: left out"); });
      EXPECT_EQ(is_said, is_left_out && is_for_others);
    }
  }
}

TEST(Hierarchy, WhatCannotBeReadIsListedAndIsNoAbsentNode) {
  for (const ErrorCode code :
       {ErrorCode::kPermissionDenied, ErrorCode::kIo, ErrorCode::kTimedOut, ErrorCode::kStale,
        ErrorCode::kTooManyOpenFiles, ErrorCode::kLinkRefused}) {
    const Fixture fixture;
    PutTree(*fixture.store);
    const std::string failure(ToString(code));
    fixture.store->FailAllWith("a/zarr.json", {code, "a/zarr.json: broken"});
    EXPECT_EQ(fixture.Children(""), (Names{"a", "g"})) << "the document cannot be read";
    EXPECT_EQ(fixture.Failure("a"), failure);
    fixture.store->ClearFaults();
    fixture.store->FailAllWith("no node", {code, "no node: broken"});
    EXPECT_EQ(fixture.Children(""), (Names{"a", "g", "no node"})) << "it may be a group";
    EXPECT_EQ(fixture.Failure("no node"), failure);
    fixture.store->ClearFaults();
    fixture.store->PutFolder("implicit/below");
    fixture.store->FailWith(FakeStore::Call::kList, "implicit/below", {code, "broken"});
    EXPECT_EQ(fixture.Failure("implicit"), failure) << "there may be a node in the folder below";
    fixture.store->ClearFaults();
    fixture.store->PutRefused("link", {code, "link: not followed"});
    EXPECT_EQ(fixture.Children(""), (Names{"a", "g", "link"}));
    EXPECT_EQ(fixture.Failure("link"), failure);
  }
}

// Seconds of processor time to show nodes with so many attributes.
double SecondsToShow(int count) {
  std::string attributes;
  for (int i = 0; i < count; ++i) attributes += fmt::format("\"attribute {}\": {},", i, i);
  attributes = "{" + attributes + "\"last\": 0}";
  const Fixture fixture;
  fixture.store->Put("zarr.json", fmt::format(R"({{"zarr_format": 3, "node_type": "group",
                                                   "attributes": {}}})",
                                              attributes));
  fixture.store->Put("a/zarr.json", ArrayText("[4]", "[4]", kBytesCodec,
                                              fmt::format(R"({{"attributes": {}}})", attributes)));
  fixture.store->Put("b/.zarray", R"({"zarr_format": 2, "shape": [4], "chunks": [4],
      "dtype": "|u1", "fill_value": 0, "order": "C", "compressor": null, "filters": null})");
  fixture.store->Put("b/.zattrs", attributes);
  const std::clock_t begin = std::clock();
  for (const char* path : {"", "a", "b"}) {
    const NodePtr node = fixture.Node(path);
    for (const NodeView& view : node->views) {
      if (view.documents.empty()) continue;  // of a view of files
      EXPECT_NE(view.documents.back().bytes.find("\"last\": 0"), std::string::npos);
    }
  }
  return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
}

TEST(Hierarchy, ManyAttributesTakeNoQuadraticTime) {
  // Four times as many take four times as long, and sixteen times if each were searched for.
  double ratio = 100;
  for (int attempt = 0; attempt < 3 && ratio > 9; ++attempt) {
    const double few = SecondsToShow(3'000);
    ratio = SecondsToShow(12'000) / few;
  }
  EXPECT_LT(ratio, 9);
}

TEST(Hierarchy, ANodeIsChargedForAllItsMemoryAndNotKeptBeyondTheCache) {
  std::string zeros = "0";
  for (int i = 0; i < 200'000; ++i) zeros += ",0";
  const Fixture fixture(false, {.node_cache_bytes = 1u << 20});
  fixture.store->Put("a/zarr.json",
                     ArrayText("[4]", "[4]", kBytesCodec,
                               fmt::format(R"({{"attributes": {{"zeros": [{}]}}}})", zeros)));
  const size_t before = LiveBytes();
  {
    const NodePtr node = fixture.Node("a");
    const size_t taken = LiveBytes() - before;
    EXPECT_GT(node->bytes_in_memory, taken / 10 * 8);
    EXPECT_GT(node->bytes_in_memory, 10U << 20) << "of 400 KB";
    EXPECT_EQ(fixture.Node("a", hours(1)), node) << "while somebody holds it";
  }
  EXPECT_LT(LiveBytes() - before, 1U << 20);
}

TEST(Hierarchy, AZarrfsMountInAGroupIsHiddenAndSaidOnce) {
  Names notes;
  const Fixture fixture(false,
                        {.on_note = [&](const Error& note) { notes.push_back(note.message); }});
  PutTree(*fixture.store);
  fixture.store->PutRefused("mnt", {ErrorCode::kZarrfsMount, "mnt: lies in a zarrfs mount"}, true);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(fixture.Children(""), (Names{"a", "g"}));
    EXPECT_EQ(fixture.Failure("mnt"), "not found");
  }
  EXPECT_EQ(notes, Names{"mnt: not shown: a zarrfs mount"});
  // Where it covers a document it is no answer.
  fixture.store->PutRefused("a/zarr.json", {ErrorCode::kZarrfsMount, "in a zarrfs mount"}, true);
  EXPECT_EQ(fixture.Failure("a"), "a zarrfs mount");
}

}  // namespace
}  // namespace zarrfs::hierarchy_test
