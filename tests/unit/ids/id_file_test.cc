#include "fs/ids/id_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "fs/ids/id_journal.h"

namespace zarrfs::id_file_test {
namespace {

using std::chrono::milliseconds;

Descriptor MemoryFile() { return Descriptor(memfd_create("ids", MFD_CLOEXEC)); }
Descriptor Copy(const Descriptor& file) {
  return Descriptor(fcntl(file.get(), F_DUPFD_CLOEXEC, 0));
}

class IdFileTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = std::filesystem::temp_directory_path() / "id_file.XXXXXX";
    folder_ = mkdtemp(name.data());
    path_ = folder_ + "/ids";
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  Descriptor Open() {
    auto file = IdFile::Open(path_, milliseconds(0));
    EXPECT_TRUE(file) << file.error().message;
    return file ? *std::move(file) : Descriptor();
  }
  // A mount that looks up these paths; the positions they get, and what the user is told.
  struct Mount {
    std::vector<uint64_t> positions;
    uint64_t generation = 0;
    std::string said;
  };
  Mount MountAndLookUp(const std::vector<std::string>& paths, bool ends = true) {
    Mount mount;
    const Descriptor file = Open();
    const Descriptor memory = MemoryFile();
    const auto said = IdFile::Load(file, memory);
    EXPECT_TRUE(said);
    mount.said = said.value_or("");
    IdJournal journal;
    EXPECT_TRUE(journal.Continue(Copy(memory)));
    EXPECT_EQ(journal.predecessors(), 0U);
    mount.generation = journal.generation();
    IdFile saved(Copy(file), Copy(memory));
    for (const std::string& path : paths) {
      const auto& kept = journal.kept().nodes;
      const auto known = std::ranges::find(kept, path, &IdJournal::Node::path);
      if (known != kept.end()) {
        mount.positions.push_back(known->block);
        continue;
      }
      mount.positions.push_back(*journal.Allocate(10));
      journal.AddNode(mount.positions.back(), 10, path);
      EXPECT_TRUE(saved.Save());
    }
    if (ends) {
      EXPECT_TRUE(saved.Save(/*last=*/true));
    }
    return mount;
  }

  std::string folder_;
  std::string path_;
};

TEST_F(IdFileTest, PositionsAreTheSameInTheNextMount) {
  const Mount first = MountAndLookUp({"a", "b"});
  EXPECT_EQ(first.said, "");
  const Mount second = MountAndLookUp({"c", "b", "a"});
  EXPECT_EQ(second.said, "");
  EXPECT_EQ(second.generation, first.generation);
  EXPECT_EQ(second.positions[1], first.positions[1]);
  EXPECT_EQ(second.positions[2], first.positions[0]);
  EXPECT_GE(second.positions[0], first.positions[1] + 10);
}

TEST_F(IdFileTest, AfterAKillTheGenerationIsAnother) {
  const Mount killed = MountAndLookUp({"a"}, /*ends=*/false);
  const Mount next = MountAndLookUp({"a"});
  EXPECT_NE(next.said, "");
  EXPECT_EQ(next.positions, killed.positions);
  EXPECT_NE(next.generation, killed.generation);
  EXPECT_EQ(MountAndLookUp({"a"}).generation, next.generation);
}

TEST_F(IdFileTest, NothingIsLostIfAWorkerDropsTheJournal) {
  const Mount first = MountAndLookUp({"a", "b", "c"});
  {
    const Descriptor file = Open();
    const Descriptor memory = MemoryFile();
    ASSERT_TRUE(IdFile::Load(file, memory));
    IdFile saved(Copy(file), Copy(memory));
    ASSERT_TRUE(saved.Save());
    IdJournal journal;
    ASSERT_TRUE(journal.Continue(Copy(memory)));
    journal.Reject();
    const auto position = journal.Allocate(10);
    journal.AddNode(*position, 10, "d");
    ASSERT_TRUE(saved.Save(/*last=*/true));
  }
  const Mount next = MountAndLookUp({"d", "a"});
  EXPECT_GT(next.positions[0], first.positions[2]);
  EXPECT_GT(next.positions[1], next.positions[0]);
}

TEST_F(IdFileTest, AnyFileThatIsCutIsBegunAnewOrGoneOnWith) {
  const Mount first = MountAndLookUp({"a", "b"});
  const auto size = std::filesystem::file_size(path_);
  std::string bytes(size, '\0');
  std::ifstream(path_, std::ios::binary).read(bytes.data(), static_cast<std::streamsize>(size));
  for (uint64_t cut = size; cut > IdFile::kHeadBytes; cut -= 4) {
    std::ofstream(path_, std::ios::binary | std::ios::trunc)
        .write(bytes.data(), static_cast<std::streamsize>(cut));
    const Mount next = MountAndLookUp({"a", "b"});
    EXPECT_EQ(cut == size, next.generation == first.generation) << cut;
    EXPECT_NE(next.positions[0], next.positions[1]);
  }
}

// A mount whose journal is compacted again and again. It observes versions of ten objects.
class CompactedIdFileTest : public IdFileTest {
 protected:
  static constexpr uint64_t kObjects = 10;
  void SetUp() override {
    IdFileTest::SetUp();
    file_ = Open();
    memory_ = MemoryFile();
    ASSERT_TRUE(IdFile::Load(file_, memory_));
    ASSERT_TRUE(journal_.Continue(Copy(memory_)));
    journal_.AddNode(*journal_.Allocate(10), 10, "a");
    saved_.emplace(Copy(file_), Copy(memory_));
  }
  void Observe(uint32_t versions) {
    for (uint32_t i = 0; i < versions; ++i) {
      ++epoch_;
      for (uint64_t object = 0; object < kObjects; ++object) {
        journal_.AddEpoch({0, epoch_, object, epoch_ * kObjects + object});
      }
    }
  }
  // What the next mount finds in the file as it is now.
  struct Found {
    bool holds = false;
    std::map<uint64_t, IdJournal::Epoch> epochs = {};
  };
  Found NextMount() const {
    Found found;
    const std::string copy = folder_ + "/copy";
    std::filesystem::copy_file(path_, copy, std::filesystem::copy_options::overwrite_existing);
    const Descriptor file(open(copy.c_str(), O_RDWR | O_CLOEXEC));
    const Descriptor memory = MemoryFile();
    EXPECT_TRUE(IdFile::Load(file, memory));
    IdJournal journal;
    EXPECT_TRUE(journal.Continue(Copy(memory)));
    EXPECT_TRUE(journal.holds()) << "it is whole, or IdFile::Load() gives it up";
    found.holds = !journal.kept().nodes.empty();
    for (const auto& epoch : journal.kept().epochs) {
      EXPECT_EQ(epoch.fingerprint, uint64_t{epoch.epoch} * kObjects + epoch.object);
      found.epochs[epoch.object] = epoch;
    }
    return found;
  }
  uint64_t Rewrites() const {
    IdJournal::Header header;
    EXPECT_EQ(pread(memory_.get(), &header, sizeof header, 0), ssize_t{sizeof header});
    return header.rewrites;
  }

  Descriptor file_;
  Descriptor memory_;
  IdJournal journal_;
  std::optional<IdFile> saved_;
  uint32_t epoch_ = 0;
};

TEST_F(CompactedIdFileTest, ACompactedJournalIsSavedAsAWhole) {
  for (int i = 0; i < 20; ++i) {
    Observe(5'000);
    ASSERT_TRUE(saved_->Save());
    ASSERT_LE(std::filesystem::file_size(path_),
              IdFile::kHeadBytes + IdJournal::kMinCompacted + kObjects * 24);
    const Found found = NextMount();
    ASSERT_TRUE(found.holds);
    ASSERT_EQ(found.epochs.size(), kObjects);
    for (const auto& [object, epoch] : found.epochs) ASSERT_EQ(epoch.epoch, epoch_);
  }
  EXPECT_GE(Rewrites(), 2U) << "it was compacted";
}

// The disk is full while records are replaced, and the mount is killed then.
TEST_F(CompactedIdFileTest, AFileThatIsHalfReplacedIsGivenUp) {
  for (uint64_t i = 0; i < 20'000; ++i) journal_.AddEpoch({0, 1, 1000 + i, kObjects + 1000 + i});
  Observe(10'000);
  ASSERT_TRUE(saved_->Save());
  ASSERT_TRUE(NextMount().holds);
  while (Rewrites() < 2) Observe(1);
  rlimit before = {};
  getrlimit(RLIMIT_FSIZE, &before);
  const auto on_signal = signal(SIGXFSZ, SIG_IGN);
  const rlimit small{IdFile::kHeadBytes + (uint64_t{128} << 10), before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &small);
  EXPECT_FALSE(saved_->Save());
  setrlimit(RLIMIT_FSIZE, &before);
  signal(SIGXFSZ, on_signal);
  EXPECT_FALSE(NextMount().holds);
  ASSERT_TRUE(saved_->Save()) << "there is room again";
  EXPECT_TRUE(NextMount().holds);
}

TEST_F(CompactedIdFileTest, WhatIsSavedWhileTheJournalIsCompactedIsWhole) {
  std::atomic<bool> is_over = false;
  std::thread worker([&] {
    while (!is_over) Observe(100);
  });
  int held = 0;
  for (int i = 0; i < 20; ++i) {
    EXPECT_TRUE(saved_->Save());
    if (NextMount().holds) ++held;
  }
  is_over = true;
  worker.join();
  ASSERT_TRUE(saved_->Save(/*last=*/true));
  const Found found = NextMount();
  ASSERT_EQ(found.epochs.size(), kObjects);
  for (const auto& [object, epoch] : found.epochs) EXPECT_EQ(epoch.epoch, epoch_);
  EXPECT_GT(held, 0);
  EXPECT_GE(Rewrites(), 2U);
}

TEST_F(IdFileTest, AFileOfOthersIsLeftAlone) {
  std::ofstream(path_) << "notes";
  const auto refused = IdFile::Open(path_, milliseconds(0));
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("not a file of inode numbers"), std::string::npos);
  std::string text;
  std::getline(std::ifstream(path_), text);
  EXPECT_EQ(text, "notes");
}

TEST_F(IdFileTest, OneMountAtATimeUsesIt) {
  const Descriptor first = Open();
  EXPECT_FALSE(IdFile::Open(path_, milliseconds(60)));
}

}  // namespace
}  // namespace zarrfs::id_file_test
