#include "fs/ids/id_journal.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "fs/ids/id_format.h"
#include "fs/ids/node_table.h"
#include "fs/tree/tree.h"
#include "tests/unit/support/fake_store.h"

namespace zarrfs::id_journal_test {
namespace {

Digest DigestOf(std::string_view text) {
  DigestBuilder builder;
  builder.Add(text);
  return builder.Finish();
}

class IdJournalTest : public testing::Test {
 protected:
  // As the next process finds it.
  std::unique_ptr<IdJournal> Next() {
    auto journal = std::make_unique<IdJournal>();
    const auto continued = journal->Continue(Descriptor(dup(file_.get())));
    EXPECT_TRUE(continued) << continued.error().message;
    return journal;
  }
  void Write(std::string_view bytes, off_t at) {
    EXPECT_EQ(pwrite(file_.get(), bytes.data(), bytes.size(), at),
              static_cast<ssize_t>(bytes.size()));
  }
  void WriteNumber(uint64_t number, off_t at) {
    Write({reinterpret_cast<const char*>(&number), sizeof number}, at);
  }
  // Offsets in the header.
  static constexpr off_t kUsed = 24;
  static constexpr off_t kNextLow = 40;
  static constexpr off_t kRewrites = 64;
  static constexpr off_t kRecords = 4096;

  const Descriptor file_{memfd_create("ids", MFD_CLOEXEC)};
};

TEST_F(IdJournalTest, NextProcessFindsWhatWasWritten) {
  {
    const auto journal = Next();
    EXPECT_EQ(journal->predecessors(), 0u);
    const uint64_t root = *journal->Allocate(100);
    journal->AddNode(root, 100, "");
    const uint64_t array = *journal->Allocate(100);
    journal->AddNode(array, 100, "a/b");
    journal->AddDocuments(array, DigestOf("one"), 0);
    journal->AddDocuments(array, DigestOf("two"), 1);
    const uint32_t table = journal->NewTable();
    const uint32_t range = journal->AddRange(array, DigestOf("files"), table, 7, 42);
    journal->AddSegment(range, {0, 4, *journal->Allocate(40), 40});
    journal->AddRows(range, 3);
    journal->AddSegment(range, {4, 4, *journal->Allocate(uint64_t{1} << 30), uint64_t{1} << 30});
    journal->AddEpoch({table, 2, 5, 99});
    journal->AddEpoch({0, 1, 6, 98});
  }
  const auto journal = Next();
  EXPECT_TRUE(journal->holds());
  EXPECT_EQ(journal->predecessors(), 1u);
  const auto& kept = journal->kept();
  ASSERT_EQ(kept.nodes.size(), 2u);
  EXPECT_EQ(kept.nodes[0].path, "");
  EXPECT_EQ(kept.nodes[1].path, "a/b");
  EXPECT_EQ(kept.nodes[1].documents, DigestOf("two"));
  EXPECT_EQ(kept.nodes[1].document_epoch, 1u);
  ASSERT_EQ(kept.ranges.size(), 1u);
  EXPECT_EQ(kept.ranges[0].files, DigestOf("files"));
  EXPECT_EQ(kept.ranges[0].rows, 3u);
  EXPECT_EQ(kept.ranges[0].naming, 42u);
  ASSERT_EQ(kept.ranges[0].segments.size(), 2u);
  EXPECT_EQ(kept.ranges[0].segments[1].first_row, 4u);
  EXPECT_GE(kept.ranges[0].segments[1].position, IdJournal::kHighStart);
  ASSERT_EQ(kept.epochs.size(), 2u);
  EXPECT_EQ(kept.epochs[0].fingerprint, 99u);
  EXPECT_EQ(journal->NewTable(), 2u);
}

TEST_F(IdJournalTest, NumbersAreNeverGivenOutAgain) {
  const auto first = Next();
  const uint64_t low = *first->Allocate(5);
  const uint64_t high = *first->Allocate(uint64_t{1} << 40);
  const uint32_t status = first->NextStatus();
  const auto second = Next();
  EXPECT_GE(*second->Allocate(5), low + 5);
  EXPECT_GE(*second->Allocate(uint64_t{1} << 40), high + (uint64_t{1} << 40));
  EXPECT_GT(second->NextStatus(), status);
  EXPECT_EQ(second->generation(), first->generation());
}

TEST_F(IdJournalTest, RecordThatWasNotFinishedIsNotThere) {
  {
    const auto journal = Next();
    journal->AddNode(*journal->Allocate(100), 100, "a");
  }
  Write("half of a record", lseek(file_.get(), 0, SEEK_END));
  const auto journal = Next();
  EXPECT_TRUE(journal->holds());
  EXPECT_EQ(journal->kept().nodes.size(), 1u);
}

// A store whose objects are replaced again and again.
TEST_F(IdJournalTest, AJournalThatHasGrownIsCompacted) {
  constexpr uint32_t kEpochs = 100'000;
  constexpr uint64_t kObjects = 10;
  {
    const auto journal = Next();
    const uint64_t block = *journal->Allocate(100);
    journal->AddNode(block, 100, "a");
    const uint32_t table = journal->NewTable();
    const uint32_t range = journal->AddRange(block, DigestOf("files"), table, 7, 42);
    for (uint32_t epoch = 0; epoch < kEpochs; ++epoch) {
      for (uint64_t object = 0; object < kObjects; ++object) {
        journal->AddEpoch({table, epoch, object, epoch + object});
        if (object == 0) journal->AddEpoch({0, epoch, object, epoch});
      }
      if (epoch % 1000 != 0) continue;
      journal->AddDocuments(block, DigestOf(std::to_string(epoch)), epoch);
      journal->AddSegment(range, {epoch, 1000, *journal->Allocate(8), 8});
      journal->AddRows(range, epoch + 1);
      ASSERT_LE(lseek(file_.get(), 0, SEEK_END), kRecords + off_t{IdJournal::kMinCompacted});
    }
    journal->AddNode(*journal->Allocate(100), 100, "b");
  }
  const auto journal = Next();
  ASSERT_TRUE(journal->holds());
  const auto& kept = journal->kept();
  ASSERT_EQ(kept.nodes.size(), 2U);
  EXPECT_EQ(kept.nodes[0].documents, DigestOf(std::to_string(kEpochs - 1000)));
  EXPECT_EQ(kept.nodes[0].document_epoch, kEpochs - 1000);
  ASSERT_EQ(kept.ranges.size(), 1U);
  EXPECT_EQ(kept.ranges[0].rows, kEpochs - 1000 + 1);
  EXPECT_EQ(kept.ranges[0].segments.size(), kEpochs / 1000);
  std::map<std::pair<uint32_t, uint64_t>, IdJournal::Epoch> epochs;
  for (const auto& epoch : kept.epochs) epochs[{epoch.table, epoch.object}] = epoch;
  ASSERT_EQ(epochs.size(), kObjects + 1);
  for (const auto& [object, epoch] : epochs) {
    EXPECT_EQ(epoch.epoch, kEpochs - 1);
    EXPECT_EQ(epoch.fingerprint, kEpochs - 1 + object.second);
  }
}

TEST_F(IdJournalTest, AJournalWithoutSuperfluousRecordsGrows) {
  constexpr uint64_t kObjects = 400'000;
  {
    const auto journal = Next();
    for (uint64_t object = 0; object < kObjects; ++object) journal->AddEpoch({0, 0, object, 1});
  }
  const auto journal = Next();
  EXPECT_TRUE(journal->holds());
  EXPECT_EQ(journal->kept().epochs.size(), kObjects);
}

TEST_F(IdJournalTest, AJournalOfAProcessThatWasKilledWhileItCompactedIsDropped) {
  uint64_t next = 0;
  {
    const auto journal = Next();
    journal->AddNode(*journal->Allocate(100), 100, "a");
    next = journal->next_low();
  }
  WriteNumber(1, kRewrites);
  {
    const auto journal = Next();
    EXPECT_FALSE(journal->holds());
    EXPECT_TRUE(journal->kept().nodes.empty());
    EXPECT_EQ(journal->next_low(), next);
    journal->AddNode(*journal->Allocate(100), 100, "b");
  }
  const auto journal = Next();
  EXPECT_TRUE(journal->holds());
  EXPECT_EQ(journal->kept().nodes.size(), 1U);
}

TEST_F(IdJournalTest, AProcessThatIsKilledAtAnyTimeLeavesAJournalThatIsWholeOrDropped) {
  constexpr uint64_t kObjects = 10;
  int held = 0;
  for (unsigned i = 0; i < 25; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      const auto journal = Next();
      for (uint32_t epoch = 0;; ++epoch) {
        for (uint64_t object = 0; object < kObjects; ++object) {
          journal->AddEpoch({0, epoch, object, epoch * kObjects + object});
        }
      }
    }
    usleep(60'000 + i * 3571);  // most of the time it compacts
    kill(child, SIGKILL);
    ASSERT_EQ(waitpid(child, nullptr, 0), child);
    const auto journal = Next();
    if (journal->holds()) ++held;
    for (const auto& epoch : journal->kept().epochs) {
      ASSERT_EQ(epoch.fingerprint, epoch.epoch * kObjects + epoch.object);
    }
  }
  EXPECT_GT(held, 0);
}

// Whatever the process before has left: nothing of it is taken over, and its numbers stay away.
TEST_F(IdJournalTest, WhatDoesNotHoldTogetherIsDropped) {
  const auto is_dropped = [&](const std::function<void(IdJournal&)>& write) {
    EXPECT_EQ(ftruncate(file_.get(), 0), 0);
    uint64_t next = 0;
    {
      const auto journal = Next();
      const uint64_t block = *journal->Allocate(100);
      journal->AddNode(block, 100, "good");
      write(*journal);
      next = journal->next_low();
    }
    const auto journal = Next();
    EXPECT_TRUE(journal->kept().nodes.empty() || journal->holds());
    EXPECT_GE(journal->next_low(), next);
    return !journal->holds();
  };
  EXPECT_FALSE(is_dropped([](IdJournal&) {}));
  EXPECT_TRUE(is_dropped([](IdJournal& j) { j.AddNode(16, 100, "again"); })) << "given out before";
  EXPECT_TRUE(is_dropped([](IdJournal& j) { j.AddNode(500, 100, "later"); }))
      << "not yet given out";
  EXPECT_TRUE(is_dropped([](IdJournal& j) { j.AddNode(*j.Allocate(1), UINT64_MAX, "long"); }));
  EXPECT_TRUE(is_dropped([](IdJournal& j) { j.AddNode(*j.Allocate(1), 0, "empty"); }));
  using std::string_literals::operator""s;
  for (const std::string& path : {"good"s, "../b"s, "a//b"s, "/a"s, "a/"s, "."s, "a\0b"s}) {
    EXPECT_TRUE(is_dropped([&](IdJournal& j) { j.AddNode(*j.Allocate(1), 1, path); })) << path;
  }
  EXPECT_TRUE(is_dropped([](IdJournal& j) { j.AddDocuments(17, {}, 0); })) << "no such node";
  EXPECT_TRUE(is_dropped([](IdJournal& j) { (void)j.AddRange(16, {}, 0, 1, 1); })) << "table 0";
  EXPECT_TRUE(is_dropped([](IdJournal& j) { (void)j.AddRange(16, {}, 9, 1, 1); }));
  EXPECT_TRUE(is_dropped([](IdJournal& j) { j.AddRows(0, 1); })) << "no such range";
  EXPECT_TRUE(is_dropped([](IdJournal& j) {
    (void)j.AddRange(16, {}, 1, 1, 1);
    j.AddSegment(0, {1, 1, *j.Allocate(1), 1});
  })) << "rows are missing";
  EXPECT_TRUE(is_dropped([](IdJournal& j) {
    (void)j.AddRange(16, {}, 1, 1, 1);
    j.AddSegment(0, {0, 1, 16, 1});
  })) << "the node's";
  EXPECT_TRUE(is_dropped([](IdJournal& j) { j.AddEpoch({1, 0, 0, 0}); })) << "no such table";
  EXPECT_TRUE(is_dropped([&](IdJournal&) { WriteNumber(UINT64_MAX, kUsed); }));
  EXPECT_TRUE(is_dropped([&](IdJournal&) { WriteNumber(8, kUsed); })) << "in a record";
  EXPECT_TRUE(is_dropped([&](IdJournal&) { WriteNumber(77, kRecords); })) << "of no kind";
  EXPECT_TRUE(is_dropped([&](IdJournal&) { WriteNumber(IdFormat() + 1, 0); })) << "another format";
  WriteNumber(1, kNextLow);
  EXPECT_FALSE(IdJournal().Continue(Descriptor(dup(file_.get()))));
}

// --- With a tree ---------------------------------------------------------------------------------

constexpr const char* kArray =
    R"({"zarr_format": 3, "node_type": "array", "data_type": "uint8", "fill_value": 0,
    "chunk_key_encoding": {"name": "default"}, "attributes": {}, "shape": [8, 4],
    "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [4, 4]}},
    "codecs": [{"name": "bytes"}]})";

class InheritedTreeTest : public IdJournalTest {
 protected:
  InheritedTreeTest() {
    store_->Put("zarr.json", R"({"zarr_format": 3, "node_type": "group"})");
    store_->Put("a/zarr.json", kArray);
    store_->Put("a/c/0/0", std::string(16, 'x'));
    store_->Put("a/c/1/0", std::string(16, 'y'));
  }
  std::unique_ptr<Tree> NextTree() {
    return Tree::Open(store_, TreeOptions(), Descriptor(dup(file_.get()))).value();
  }
  static NodeId IdOf(Tree& tree, std::initializer_list<const char*> names) {
    NodeId id = kRootId;
    for (const char* name : names) id = tree.LookUp(id, name).value().id;
    return id;
  }
  static Result<std::string> Read(Tree& tree, NodeId id) {
    std::array<std::byte, 4096> buffer;
    const auto piece = tree.Read(id, 0, buffer);
    if (!piece) return Fail(piece);
    return std::string(reinterpret_cast<const char*>(piece->bytes.data()), piece->bytes.size());
  }
  std::shared_ptr<FakeStore> store_ = std::make_shared<FakeStore>();
};

TEST_F(InheritedTreeTest, IdsGoOnMeaningTheSame) {
  auto first = NextTree();
  const NodeId folder = IdOf(*first, {"v3", "a", "c", "1"});
  const NodeId chunk = IdOf(*first, {"v3", "a", "c", "1", "0"});
  const NodeId document = IdOf(*first, {"v3", "a", "zarr.json"});
  const NodeId consolidated = IdOf(*first, {"v2", ".zmetadata"});
  const std::string text = *Read(*first, document);
  const std::string metadata = *Read(*first, consolidated);
  for (int i = 0; i < 3; ++i) {
    auto next = NextTree();
    EXPECT_EQ(*Read(*next, chunk), std::string(16, 'y'));
    EXPECT_EQ(*Read(*next, document), text);
    EXPECT_EQ(*Read(*next, consolidated), metadata);
    EXPECT_EQ(next->LookUp(folder, "0")->id, chunk);
    EXPECT_EQ(next->Attributes(chunk)->attributes.st_size, 16);
    EXPECT_EQ(IdOf(*next, {"v3", "a", "c", "1", "0"}), chunk);
    EXPECT_EQ(IdOf(*next, {"v3", "a", "zarr.json"}), document);
    EXPECT_EQ(IdOf(*next, {"v2", ".zmetadata"}), consolidated);
    store_->Put("b" + std::to_string(i) + "/zarr.json", kArray);
    const NodeId other = IdOf(*next, {"v3", ("b" + std::to_string(i)).c_str()});
    EXPECT_NE(PositionOf(other), PositionOf(folder));
    store_->Remove("b" + std::to_string(i) + "/zarr.json");
  }
}

TEST_F(InheritedTreeTest, WhatChangedBetweenTwoProcessesHasAnotherId) {
  auto first = NextTree();
  const NodeId chunk = IdOf(*first, {"v3", "a", "c", "0", "0"});
  const NodeId same = IdOf(*first, {"v3", "a", "c", "1", "0"});
  first.reset();
  store_->Put("a/c/0/0", std::string(16, 'z'));
  auto next = NextTree();
  EXPECT_EQ(Read(*next, chunk).error().code, ErrorCode::kStale);
  const NodeId now = IdOf(*next, {"v3", "a", "c", "0", "0"});
  EXPECT_NE(now, chunk);
  EXPECT_EQ(*Read(*next, now), std::string(16, 'z'));
  EXPECT_EQ(*Read(*next, same), std::string(16, 'y'));
  next = NextTree();
  EXPECT_EQ(*Read(*next, now), std::string(16, 'z'));
  EXPECT_EQ(Read(*next, chunk).error().code, ErrorCode::kStale);
}

TEST_F(InheritedTreeTest, WithoutAJournalThatHoldsOldIdsAreStaleAndNoNewOneIsOneOfThem) {
  auto first = NextTree();
  const NodeId chunk = IdOf(*first, {"v3", "a", "c", "0", "0"});
  WriteNumber(77, kRecords);
  auto next = NextTree();
  EXPECT_EQ(Read(*next, chunk).error().code, ErrorCode::kStale);
  const NodeId now = IdOf(*next, {"v3", "a", "c", "0", "0"});
  EXPECT_NE(PositionOf(now), PositionOf(chunk));
  EXPECT_EQ(*Read(*next, now), std::string(16, 'x'));
}

// A program with fewer views, or with more documents in each, numbers the nodes otherwise: an id
// would stand for two files. `views` and `slots`: what that program had.
void WriteJournalOf(IdJournal& journal, uint64_t views, uint64_t slots) {
  for (const char* path : {"", "a"}) {
    journal.AddNode(*journal.Allocate(views * slots), views * slots, path);
  }
}

class OtherProgramTest : public InheritedTreeTest,
                         public testing::WithParamInterface<std::pair<uint64_t, uint64_t>> {};

TEST_P(OtherProgramTest, NoIdOfAnotherProgramStandsForTwoFiles) {
  WriteJournalOf(*Next(), GetParam().first, GetParam().second);
  const uint64_t next = Next()->next_low();
  EXPECT_TRUE(Next()->holds()) << "its format is this program's";
  auto tree = NextTree();
  std::set<NodeId> ids;
  size_t looked_up = 0;
  for (const View* view : AllViews()) {
    const std::string name(view->name());
    ids.insert(IdOf(*tree, {name.c_str()}));
    ++looked_up;
    if (view->file_of() == FileOf::kGroups) continue;
    ids.insert(IdOf(*tree, {name.c_str(), ("a" + std::string(view->suffix())).c_str()}));
    ++looked_up;
  }
  EXPECT_EQ(ids.size(), looked_up);
  for (const NodeId id : ids) EXPECT_GE(PositionOf(id), next);
  const NodeId chunk = IdOf(*tree, {"v3", "a", "c", "0", "0"});
  EXPECT_EQ(*Read(*NextTree(), chunk), std::string(16, 'x')) << "from here on ids are kept again";
}

INSTANTIATE_TEST_SUITE_P(Programs, OtherProgramTest,
                         testing::Values(std::pair(kMaxViews - 1, NodeRecord::kSlots),
                                         std::pair(kMaxViews, NodeRecord::kSlots + 1)));

TEST_F(IdJournalTest, JournalOfAProgramWithOtherViewsIsDropped) {
  auto views = IdsOfViews();
  views.pop_back();
  const uint64_t fewer = IdFormatOf(views.size() * NodeRecord::kSlots, views);
  views = IdsOfViews();
  views[0].documents.emplace_back(".zmore");
  for (const uint64_t format : {fewer, IdFormatOf(NodeRecord::kBlock, views)}) {
    EXPECT_EQ(ftruncate(file_.get(), 0), 0);
    WriteJournalOf(*Next(), kMaxViews, NodeRecord::kSlots);
    EXPECT_TRUE(Next()->holds());
    WriteNumber(format, 0);
    EXPECT_FALSE(Next()->holds());
  }
}

// One that says other numbers of positions than the array has.
TEST_F(InheritedTreeTest, RangeThatDoesNotFitItsArrayIsNotUsed) {
  auto first = NextTree();
  const NodeId chunk = IdOf(*first, {"v3", "a", "c", "0", "0"});
  const auto [range, rows, position] = [&] {
    const auto journal = Next();
    const auto& found = journal->kept().ranges.at(0);
    return std::tuple(found, found.rows, found.segments.at(0).position);
  }();
  std::string bytes(size_t{1} << 16, '\0');
  const ssize_t size = pread(file_.get(), bytes.data(), bytes.size(), kRecords);
  bytes.resize(static_cast<size_t>(size));
  // Twice the rows of its segment, in the same positions.
  const std::array<uint64_t, 5> before = {0, 0, range.segments[0].rows, position,
                                          range.segments[0].count};
  const size_t at = bytes.find({reinterpret_cast<const char*>(before.data()), sizeof before});
  ASSERT_NE(at, std::string::npos);
  WriteNumber(2 * rows, kRecords + static_cast<off_t>(at) + 16);
  auto next = NextTree();
  const NodeId now = IdOf(*next, {"v3", "a", "c", "0", "0"});
  EXPECT_NE(PositionOf(now), PositionOf(chunk));
  EXPECT_EQ(*Read(*next, now), std::string(16, 'x'));
}

}  // namespace
}  // namespace zarrfs::id_journal_test
