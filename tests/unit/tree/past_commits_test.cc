// Files of chunks that stay open while a branch of an Icechunk repository moves on.

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "fs/tree/tree.h"
#include "tests/unit/array/array_testing.h"
#include "tests/unit/support/fake_store.h"
#include "tests/unit/support/icechunk_writer.h"
#include "zarrcore/base/memory_budget.h"
#include "zarrcore/icechunk/all_commits.h"
#include "zarrcore/icechunk/icechunk_store.h"

namespace zarrfs::past_commits_test {
namespace {

constexpr uint8_t kNode = 200;
constexpr size_t kPast = 3;

struct Repository {
  std::shared_ptr<FakeStore> container = std::make_shared<FakeStore>();
  std::string array = ArrayText("[16]", "[8]", kBytesCodec);

  // Commit `id`: chunk 0 is stored inline or in an object, chunk 1 never changes. No chunk 0 if
  // `has_chunk` is false.
  void Commit(uint8_t id, bool is_inline, bool has_chunk = true) const {
    const std::string bytes = Bytes(id);
    std::vector<WrittenReference> references;
    if (has_chunk && is_inline) references.push_back({{0}, 0, 0, 0, bytes});
    if (has_chunk && !is_inline) references.push_back({{0}, id, 0, bytes.size()});
    references.push_back({{1}, 0, 0, 0, Bytes(0)});
    container->Put("chunks/" + Id(id), bytes);
    container->Put("manifests/" + Id(id), IcechunkWriter::Manifest(id, {{kNode, references}}));
    container->Put(
        "snapshots/" + Id(id),
        IcechunkWriter::Snapshot(id, {{"/", R"({"zarr_format": 3, "node_type": "group"})"},
                                      {"/a", array, kNode, true, 1, {{id, {{0, 2}}}}}}));
    container->Put("refs/branch.main/ref.json", fmt::format(R"({{"snapshot":"{}"}})", Id(id)));
  }
  static std::string Id(uint8_t id) { return IcechunkIdText(IcechunkIdOf(id)); }
  static std::string Bytes(uint8_t id) { return std::string(8, static_cast<char>('a' + id)); }
};

struct PastCommitsTest : testing::TestWithParam<std::pair<bool, bool>> {  // inline, all commits
  void SetUp() override {
    repository.container->SetCountsChanges(true);
    repository.Commit(1, GetParam().first);
    TreeOptions options;
    options.view = "v3";
    options.past_versions = kPast;
    constexpr auto kPeriod = std::chrono::milliseconds(5);
    std::shared_ptr<const Store> store;
    if (GetParam().second) {
      store = OpenAllOfIcechunk(repository.container, kPeriod).value();
      path.insert(path.begin(), "branch.main");
    } else {
      store = OpenIcechunkStore(repository.container, {}, kPeriod, kPeriod).value();
    }
    tree = *Tree::Open(store, options);
    tree->Watch([](const Changes&) {}, true);
  }
  // The file of chunk 0; 0 if there is none.
  NodeId LookUp() {
    NodeId at = kRootId;
    for (const std::string& name : path) {
      const auto entry = tree->LookUp(at, name);
      at = entry ? entry->id : 0;
      if (at == 0) break;
    }
    return at;
  }
  // Waits until it has the bytes of a commit; "" if the commit has none.
  NodeId Chunk(const std::string& bytes) {
    for (int i = 0; i < 5000; ++i) {
      const NodeId id = LookUp();
      if ((id == 0 ? "" : Read(id)) == bytes) return id;
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    ADD_FAILURE() << "not seen: " << bytes;
    return 0;
  }
  // From here on objects are opened again, and documents read again.
  void ForgetWhatIsOpen() {
    const auto share = ProcessMemory().Take(1);
    tree->Evict(UINT64_MAX);
  }
  std::string Read(NodeId id) {
    std::string out(100, '\0');
    const auto piece = tree->Read(id, 0, std::as_writable_bytes(std::span(out)));
    if (!piece) return std::string(ToString(piece.error().code));
    return {reinterpret_cast<const char*>(piece->bytes.data()), piece->bytes.size()};
  }

  Repository repository;
  std::unique_ptr<Tree> tree;
  std::vector<std::string> path = {"a", "c", "0"};
};

TEST_P(PastCommitsTest, AFileOfEachCommitIsReadUntilTheLimitAndThenStale) {
  std::vector<NodeId> files = {Chunk(Repository::Bytes(1))};
  constexpr uint8_t kCommits = 8;
  for (uint8_t id = 2; id <= kCommits; ++id) {
    repository.Commit(id, GetParam().first);
    files.push_back(Chunk(Repository::Bytes(id)));
    EXPECT_NE(files[id - 2U], files[id - 1U]);
  }
  for (const bool has_open_ones : {true, false}) {
    for (uint8_t id = 1; id <= kCommits; ++id) {
      const bool is_kept = id + kPast >= kCommits;
      EXPECT_EQ(Read(files[id - 1U]), is_kept ? Repository::Bytes(id) : ToString(ErrorCode::kStale))
          << int{id};
    }
    if (has_open_ones) ForgetWhatIsOpen();
  }
}

TEST_P(PastCommitsTest, AFileWhoseChunkIsNoLongerNamedIsRead) {
  const NodeId file = Chunk(Repository::Bytes(1));
  repository.Commit(2, GetParam().first, /*has_chunk=*/false);
  EXPECT_EQ(Chunk(""), 0U);
  ForgetWhatIsOpen();
  EXPECT_EQ(Read(file), Repository::Bytes(1));
}

TEST_P(PastCommitsTest, AFileWhoseCommitIsGoneNeverHasBytesOfTheNextOne) {
  const NodeId file = Chunk(Repository::Bytes(1));
  repository.Commit(2, GetParam().first);
  EXPECT_NE(Chunk(Repository::Bytes(2)), file);
  for (const char* const kind : {"chunks/", "manifests/", "snapshots/"}) {
    repository.container->Remove(kind + Repository::Id(1));
  }
  ForgetWhatIsOpen();
  const std::string found = Read(file);
  const bool is_error = found == ToString(ErrorCode::kStale) || found == ToString(ErrorCode::kIo);
  EXPECT_TRUE(is_error || found == Repository::Bytes(1)) << found;  // (manifests stay in memory)
}

INSTANTIATE_TEST_SUITE_P(All, PastCommitsTest,
                         testing::Values(std::pair(false, false), std::pair(true, false),
                                         std::pair(false, true), std::pair(true, true)));

}  // namespace
}  // namespace zarrfs::past_commits_test
