#include "zarrcore/icechunk/icechunk_store.h"

#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "tests/unit/support/fake_store.h"
#include "tests/unit/support/folder_names.h"
#include "tests/unit/support/icechunk_writer.h"
#include "tests/unit/support/read.h"

namespace zarrfs::icechunk_store_test {
namespace {

constexpr uint8_t kSnapshot = 1;
constexpr uint8_t kManifest = 2;
constexpr uint8_t kNode = 7;
constexpr uint8_t kChunk = 9;

std::string Key(std::string_view folder, uint8_t id) {
  return std::string(folder) + "/" + IcechunkIdText(IcechunkIdOf(id));
}

struct IcechunkStoreTest : testing::Test {
  std::shared_ptr<FakeStore> container = std::make_shared<FakeStore>();
  std::vector<WrittenNode> nodes = {
      {"/", "root"},
      {"/a", "a", kNode, true, 2, {{kManifest, {{0, 3}, {0, 4}}}}},
      {"/a-b", "a-b", 2},
      {"/g/h", "h", 3},
  };
  std::vector<WrittenReference> references = {
      {{0, 1}, 0, 0, 0, "inline"},
      {{0, 3}, kChunk, 0, 5},
      {{2, 0}, kChunk, 2, 3},
      {{2, 2}, 0, 100, 10, "", "s3://elsewhere/x.nc"},
  };

  void Write() const {
    container->Put("refs/branch.main/ref.json",
                   fmt::format(R"({{"snapshot":"{}"}})", IcechunkIdText(IcechunkIdOf(kSnapshot))));
    container->Put(Key("snapshots", kSnapshot), IcechunkWriter::Snapshot(kSnapshot, nodes));
    container->Put(Key("manifests", kManifest),
                   IcechunkWriter::Manifest(kManifest, {{kNode, references}}));
    container->Put(Key("chunks", kChunk), "01234");
  }
  [[nodiscard]] Result<std::shared_ptr<Store>> TryOpen(const std::string& at) const {
    return OpenIcechunkStore(container, ParseIcechunkAt(at).value());
  }
  [[nodiscard]] std::shared_ptr<Store> Open(const std::string& at = "branch.main") const {
    Write();
    return TryOpen(at).value();
  }
  [[nodiscard]] std::string WhyNot(const std::string& at = "branch.main") const {
    const auto store = TryOpen(at);
    return store ? "it can be opened" : store.error().message;
  }
};

TEST_F(IcechunkStoreTest, ListsNodesDocumentsAndChunks) {
  const auto store = Open();
  EXPECT_EQ(FolderNames(*store, ""), "zarr.json a-b/ a/ g/ ");
  EXPECT_EQ(FolderNames(*store, "a"), "zarr.json c/ ");
  EXPECT_EQ(FolderNames(*store, "a/c"), "0/ 2/ ");
  EXPECT_EQ(FolderNames(*store, "a/c/0"), "1 3 ");
  EXPECT_EQ(FolderNames(*store, "a/c/1"), "not found");
  EXPECT_EQ(FolderNames(*store, "a-b"), "zarr.json ");
  EXPECT_EQ(FolderNames(*store, "g"), "h/ ");
  EXPECT_EQ(FolderNames(*store, "x"), "not found");
}

TEST_F(IcechunkStoreTest, ReadsDocumentsAndChunksByRange) {
  const auto store = Open();
  EXPECT_EQ(Read(*store, "zarr.json"), "root");
  EXPECT_EQ(Read(*store, "g/h/zarr.json"), "h");
  EXPECT_EQ(Read(*store, "a/c/0/1"), "inline");
  EXPECT_EQ(Read(*store, "a/c/0/1", ByteRange::Suffix(3)), "ine");
  EXPECT_EQ(Read(*store, "a/c/0/3"), "01234");
  EXPECT_EQ(Read(*store, "a/c/2/0"), "234");
  EXPECT_EQ(Read(*store, "a/c/2/0", ByteRange::Suffix(2)), "34");
  EXPECT_EQ(Read(*store, "a/c/2/0", ByteRange::At(1, 1)), "3");
  EXPECT_EQ(store->Stat("a/c/2/0")->size(), 3u);
}

TEST_F(IcechunkStoreTest, AnObjectReadsOnInTheSameVersion) {
  const auto store = Open();
  std::string out(2, '\0');
  const auto bytes = std::as_writable_bytes(std::span(out));
  const auto answer = store->Read("a/c/2/0", ByteRange::At(0, 1), bytes);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->object->info().version, store->Stat("a/c/2/0")->version);
  ASSERT_TRUE(answer->object->Read(1, bytes));
  EXPECT_EQ(out, "34");
  EXPECT_EQ(answer->object->Read(2, bytes).error().code, ErrorCode::kDamaged);
}

TEST_F(IcechunkStoreTest, AChunkThatNoManifestNamesIsAbsent) {
  const auto store = Open();
  for (const char* key : {"a/c/0/0", "a/c/1/1", "a/c/9/9", "a/c/0/1/0", "a/c/00/1", "a/c/0/x",
                          "a/d", "a/.zarray", "a-b/c/0", "g/zarr.json"}) {
    EXPECT_EQ(store->Stat(key).error().code, ErrorCode::kNotFound) << key;
  }
}

TEST_F(IcechunkStoreTest, ANamedChunkWhoseObjectIsMissingIsAnError) {
  const auto store = Open();
  container->Remove(Key("chunks", kChunk));
  EXPECT_EQ(store->Stat("a/c/0/3").error().code, ErrorCode::kIo);
  EXPECT_EQ(Read(*store, "a/c/0/3"),
            "input/output error: a/c/0/3: its object chunks/144GJ289144GJ289144G is missing in the "
            "repository (collected as garbage, or not copied)");
}

TEST_F(IcechunkStoreTest, ASlowStoreIsAskedForAChunkWhenItIsRead) {
  container->SetAnswersFast(false);
  const auto store = Open();
  const auto info = store->Stat("a/c/2/0");
  ASSERT_TRUE(info);
  const auto opened = store->Read("a/c/2/0", ByteRange::At(0, 0), {});
  ASSERT_TRUE(opened);
  EXPECT_EQ(opened->object->info().version, info->version);
  EXPECT_EQ(container->count(FakeStore::Call::kRead, Key("chunks", kChunk)), 0u);
  std::string out(2, '\0');
  const auto bytes = std::as_writable_bytes(std::span(out));
  ASSERT_TRUE(opened->object->Read(1, bytes));
  EXPECT_EQ(out, "34");
  EXPECT_EQ(Read(*store, "a/c/2/0"), "234");

  const auto late = store->Read("a/c/2/0", ByteRange::At(0, 0), {});
  container->Put(Key("chunks", kChunk), "0123");
  EXPECT_EQ(late->object->Read(0, bytes).error().code, ErrorCode::kIo) << "it ends early";
  container->Remove(Key("chunks", kChunk));
  EXPECT_EQ(late->object->Read(0, bytes).error().code, ErrorCode::kIo) << "not absent";
}

TEST_F(IcechunkStoreTest, ChunksOfASlowStoreKeepTheirVersionWhileCommitsLeaveThemAlone) {
  container->SetAnswersFast(false);
  const auto store = Open();
  const auto before = store->Stat("a/c/2/0")->version;
  const uint8_t next = 11;
  container->Put(Key("snapshots", next), IcechunkWriter::Snapshot(next, nodes));
  container->Put("refs/branch.main/ref.json",
                 fmt::format(R"({{"snapshot":"{}"}})", IcechunkIdText(IcechunkIdOf(next))));
  EXPECT_EQ(store->Stat("a/c/2/0")->version, before);
  EXPECT_EQ(container->count(FakeStore::Call::kRead, Key("snapshots", next)), 1u) << "it was seen";
}

TEST_F(IcechunkStoreTest, ABranchIsFollowedInStepsThatAreAnnounced) {
  container->SetCountsChanges(true);
  const auto store = Open();
  std::mutex mutex;
  std::condition_variable called;
  std::vector<std::string> calls;
  ASSERT_TRUE(store->StartWatching(
      [&](const Changes& changes) {
        const std::lock_guard lock(mutex);
        calls.push_back(
            fmt::format("{}{} {} {}", changes.is_coming ? "comes " : "has come ",
                        changes.all ? "all" : fmt::format("{}", fmt::join(changes.keys, " ")),
                        Read(*store, "a/c/2/0"), store->change_count()));
        called.notify_all();
      },
      [](std::string_view) {}));
  const auto commit = [&](uint8_t id, std::string_view document) {
    const auto manifest = static_cast<uint8_t>(id + 1);
    nodes[1].document = document;
    nodes[1].boxes[0].first = manifest;
    references[2] = {{2, 0}, 0, 0, 0, fmt::format("of {}", id)};
    container->Put(Key("manifests", manifest),
                   IcechunkWriter::Manifest(manifest, {{kNode, references}}));
    container->Put(Key("snapshots", id), IcechunkWriter::Snapshot(id, nodes));
    const size_t before = calls.size();
    container->Put("refs/branch.main/ref.json",
                   fmt::format(R"({{"snapshot":"{}"}})", IcechunkIdText(IcechunkIdOf(id))));
    std::unique_lock lock(mutex);
    called.wait_for(lock, std::chrono::seconds(30), [&] { return calls.size() == before + 2; });
  };
  commit(20, "a");
  commit(30, "other");
  EXPECT_EQ(calls, (std::vector<std::string>{"comes a/c/2/0 234 1", "has come a/c/2/0 of 20 2",
                                             "comes all of 20 2", "has come all of 30 3"}));
  container->Remove("refs/branch.main/ref.json");
  EXPECT_EQ(Read(*store, "a/c/2/0"), "of 30") << "the last one stays";
}

TEST_F(IcechunkStoreTest, AnObjectThatIsTooShortIsAnError) {
  const auto store = Open();
  container->Put(Key("chunks", kChunk), "0123");
  EXPECT_EQ(store->Stat("a/c/0/3").error().code, ErrorCode::kIo);
  EXPECT_NE(Read(*store, "a/c/0/3").find("ends early: expected 5 bytes, found 4"),
            std::string::npos);
}

TEST_F(IcechunkStoreTest, AMissingOrDamagedManifestIsAnErrorOfItsChunksAlone) {
  Write();
  for (const bool is_missing : {true, false}) {
    container->Put(Key("manifests", kManifest), "damaged");
    if (is_missing) container->Remove(Key("manifests", kManifest));
    const auto store = TryOpen("branch.main").value();
    EXPECT_EQ(store->Stat("a/c/0/0").error().code, ErrorCode::kIo);
    EXPECT_EQ(store->List("a/c").error().code, ErrorCode::kIo);
    EXPECT_EQ(Read(*store, "a/zarr.json"), "a");
  }
}

TEST_F(IcechunkStoreTest, AVirtualChunkHasASizeAndAnErrorThatNamesWhatItIs) {
  const auto store = Open();
  EXPECT_EQ(store->Stat("a/c/2/2")->size(), 10u);
  EXPECT_EQ(
      Read(*store, "a/c/2/2"),
      "not supported: a/c/2/2: a virtual chunk, 10 bytes at 100 of s3://elsewhere/x.nc: outside "
      "virtual=; to allow it, add -o virtual=s3://elsewhere/");
}

TEST_F(IcechunkStoreTest, TheChunkOfAnArrayWithoutDimensionsMayHaveACoordinate) {
  for (const bool has_one : {false, true}) {
    nodes = {{"/", "", kNode, true, 0, {{kManifest, {}}}}};
    references = {{{}, 0, 0, 0, "42"}};
    if (has_one) references[0].index = {0};
    const auto store = Open();
    EXPECT_EQ(FolderNames(*store, ""), "zarr.json c ");
    EXPECT_EQ(Read(*store, "c"), "42");
  }
}

TEST_F(IcechunkStoreTest, BoxesSayWhichManifestToReadAndOneListingJoinsThem) {
  nodes[1].boxes = {{kManifest, {{0, 3}, {0, 2}}}, {3, {{0, 3}, {2, 4}}}};
  references = {{{0, 0}, 0, 0, 0, "00"}, {{1, 1}, 0, 0, 0, "11"}};
  Write();
  container->Put(
      Key("manifests", 3),
      IcechunkWriter::Manifest(3, {{kNode, {{{0, 2}, 0, 0, 0, "02"}, {{2, 3}, 0, 0, 0, "23"}}}}));
  const auto store = TryOpen("branch.main").value();
  EXPECT_EQ(Read(*store, "a/c/1/1"), "11");
  EXPECT_EQ(container->count(FakeStore::Call::kRead, Key("manifests", 3)), 0u);
  EXPECT_EQ(Read(*store, "a/c/2/3"), "23");
  EXPECT_EQ(FolderNames(*store, "a/c"), "0/ 1/ 2/ ");
  EXPECT_EQ(FolderNames(*store, "a/c/0"), "0 2 ");
}

TEST_F(IcechunkStoreTest, WhatBreaksTheFormatIsRefused) {
  const auto why = [&] {
    Write();
    return WhyNot();
  };
  const auto original = nodes;
  nodes[3].path = "/a/x";
  EXPECT_NE(why().find("'a/x' lies below an array"), std::string::npos) << why();
  nodes[3].path = "/a-b";
  EXPECT_NE(why().find("'a-b' appears twice"), std::string::npos) << why();
  for (const char* path : {"g", "/g/../h", "//", "/g/zarr.json"}) {
    nodes[3].path = path;
    EXPECT_NE(why().find("expected the path of a node"), std::string::npos) << why();
  }
  nodes = original;
  nodes[1].boxes[0].second.pop_back();
  EXPECT_NE(why().find("expected a manifest of 2 dimensions, found 1"), std::string::npos);
  nodes = original;

  const auto listing = [&] { return Open()->List("a/c").error().message; };
  std::swap(references[0], references[1]);
  EXPECT_NE(listing().find("its references are not sorted"), std::string::npos);
  references[0].index = {0};
  EXPECT_NE(listing().find("chunks of an array differ in rank"), std::string::npos);
  references = {{{0}, kChunk, 0, 5}};
  EXPECT_NE(listing().find("the manifest has chunks of 1 dimensions, the array has 2"),
            std::string::npos);
}

TEST_F(IcechunkStoreTest, ATagIsGoneOnceItIsDeletedAndNearNamesAreNamed) {
  Write();
  const auto ref = fmt::format(R"({{"snapshot":"{}"}})", IcechunkIdText(IcechunkIdOf(kSnapshot)));
  container->Put("refs/tag.v1.0/ref.json", ref);
  container->Put("refs/tag.gone/ref.json", ref);
  container->Put("refs/tag.gone/ref.json.deleted", "");
  EXPECT_EQ(Read(*TryOpen("tag.v1.0").value(), "zarr.json"), "root");
  EXPECT_NE(WhyNot("tag.v1.1").find("has no tag.v1.1: did you mean 'tag.v1.0'?"), std::string::npos)
      << WhyNot("tag.v1.1");
  EXPECT_NE(WhyNot("tag.gone").find("has no tag.gone: there are branch.main, tag.v1.0"),
            std::string::npos)
      << WhyNot("tag.gone");
  EXPECT_NE(WhyNot("branch.../../x").find("has no branch.../../x"), std::string::npos);
  EXPECT_NE(WhyNot("1CECHNKREP0F1RSTCMT0").find("no such snapshot"), std::string::npos);
  EXPECT_FALSE(ParseIcechunkAt("v1.0"));
  EXPECT_FALSE(ParseIcechunkAt("tag."));
}

TEST_F(IcechunkStoreTest, VersionTwoHasItsNamesInOneObject) {
  Write();
  container->Remove("refs");
  container->Put(
      "repo", IcechunkWriter::Repo({{"main", 1}, {"wrong", 5}}, {{"t", 1}}, {kChunk, kSnapshot}));
  EXPECT_EQ(Read(*TryOpen("branch.main").value(), "zarr.json"), "root");
  EXPECT_EQ(Read(*TryOpen("tag.t").value(), "zarr.json"), "root");
  EXPECT_NE(WhyNot("tag.main").find("has no tag.main"), std::string::npos);
  EXPECT_NE(
      WhyNot("branch.wrong").find("branch.wrong refers to snapshot number 5, but there are 2"),
      std::string::npos);
  container->Put("repo", IcechunkWriter::Repo({{"main", 1}}, {}, {kChunk, kSnapshot}, 2));
  EXPECT_NE(WhyNot().find("the Icechunk repository is offline: moved to another bucket"),
            std::string::npos);
}

TEST_F(IcechunkStoreTest, ABranchShowsTheNextCommitAndASnapshotDoesNot) {
  const auto branch = Open();
  const auto snapshot = TryOpen(IcechunkIdText(IcechunkIdOf(kSnapshot))).value();
  constexpr uint8_t kNext = 4;
  nodes[0].document = "next";
  container->Put(Key("snapshots", kNext), IcechunkWriter::Snapshot(kNext, nodes));
  EXPECT_EQ(Read(*branch, "zarr.json"), "root");
  container->Put("refs/branch.main/ref.json",
                 fmt::format(R"({{"snapshot":"{}"}})", IcechunkIdText(IcechunkIdOf(kNext))));
  EXPECT_EQ(Read(*branch, "zarr.json"), "next");
  EXPECT_EQ(Read(*snapshot, "zarr.json"), "root");
  EXPECT_EQ(snapshot->change_count(), 1u);
}

TEST_F(IcechunkStoreTest, ARepositoryThatBecomesOneOfVersionTwoIsFollowedThere) {
  constexpr uint8_t kNext = 4;
  constexpr uint8_t kLast = 5;
  for (const bool is_fast : {true, false}) {
    container = std::make_shared<FakeStore>();
    container->SetAnswersFast(is_fast);
    nodes[0].document = "of version 1";
    Write();
    for (const uint8_t id : {kNext, kLast}) {
      nodes[0].document = fmt::format("of {}", id);
      container->Put(Key("snapshots", id), IcechunkWriter::Snapshot(id, nodes));
    }
    std::mutex mutex;
    std::condition_variable called;
    std::vector<std::string> shown;
    const auto store = OpenIcechunkStore(container, ParseIcechunkAt("branch.main").value(), Age{0},
                                         std::chrono::milliseconds(5))
                           .value();
    ASSERT_TRUE(store->StartWatching(
        [&](const Changes& changes) {
          if (changes.is_coming) return;
          const std::lock_guard lock(mutex);
          shown.push_back(Read(*store, "zarr.json"));
          called.notify_all();
        },
        [](std::string_view) {}));
    const auto wait_for = [&](size_t steps) {
      std::unique_lock lock(mutex);
      called.wait_for(lock, std::chrono::seconds(30), [&] { return shown.size() >= steps; });
    };
    // The first look, which is a whole one, is over.
    const auto reads = [&] { return container->count(FakeStore::Call::kRead, "repo"); };
    for (int i = 0; i < 30'000 && reads() < 2; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    ASSERT_GE(reads(), 2u);
    container->Put("repo", IcechunkWriter::Repo({{"main", 1}}, {}, {kSnapshot, kNext}));
    wait_for(1);
    // The pointer of version 1 counts no more, whether it is written again or goes.
    container->Put("refs/branch.main/ref.json",
                   fmt::format(R"({{"snapshot":"{}"}})", IcechunkIdText(IcechunkIdOf(kSnapshot))));
    container->Put("repo", IcechunkWriter::Repo({{"main", 1}}, {}, {kNext, kLast}));
    wait_for(2);
    container->Remove("refs");
    container->Put("repo", IcechunkWriter::Repo({{"main", 0}}, {}, {kNext, kLast}));
    wait_for(3);
    const std::lock_guard lock(mutex);
    EXPECT_EQ(shown, (std::vector<std::string>{"of 4", "of 5", "of 4"})) << is_fast;
  }
}

TEST_F(IcechunkStoreTest, ABranchThatIsGoneIsAnErrorAndNothingIsAbsent) {
  const auto store = Open();
  container->Remove("refs/branch.main");
  EXPECT_EQ(store->Stat("zarr.json").error().code, ErrorCode::kIo);
  EXPECT_EQ(store->Stat("a/c/0/0").error().code, ErrorCode::kIo);
}

}  // namespace
}  // namespace zarrfs::icechunk_store_test
