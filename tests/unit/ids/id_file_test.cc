#include "fs/ids/id_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>

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

TEST_F(IdFileTest, AFileOfOthersIsLeftAlone) {
  std::ofstream(path_) << "notes";
  const auto refused = IdFile::Open(path_, milliseconds(0));
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("not a file with inode numbers"), std::string::npos);
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
