#include "zarrcore/os/removal.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace zarrfs::removal_test {
namespace {

namespace fs = std::filesystem;

class RemovalTest : public testing::Test {
 protected:
  RemovalTest() {
    std::string pattern = fs::temp_directory_path() / "removal_XXXXXX";
    top_ = mkdtemp(pattern.data());
  }
  ~RemovalTest() override { fs::remove_all(top_); }

  void Put(const std::string& name) const {
    fs::create_directories((top_ / name).parent_path());
    std::ofstream(top_ / name) << "x";
  }
  [[nodiscard]] bool Has(const std::string& name) const {
    return fs::exists(fs::symlink_status(top_ / name));
  }

  fs::path top_;
};

TEST_F(RemovalTest, OnlyRegularFilesAreRemoved) {
  Put("file");
  Put("folder/file");
  fs::create_symlink(top_ / "file", top_ / "link");
  ASSERT_EQ(mkfifo((top_ / "pipe").c_str(), 0600), 0);
  for (const char* const name : {"folder", "link", "pipe", "absent"}) {
    EXPECT_FALSE(RemoveFile(AT_FDCWD, (top_ / name).c_str())) << name;
  }
  EXPECT_TRUE(RemoveFile(AT_FDCWD, (top_ / "file").c_str()));
  EXPECT_TRUE(Has("link") && Has("pipe") && Has("folder/file") && !Has("file"));
  EXPECT_FALSE(RemoveFolder(AT_FDCWD, (top_ / "folder").c_str()));
  EXPECT_EQ(errno, ENOTEMPTY);
  EXPECT_FALSE(RemoveFolder(AT_FDCWD, (top_ / "link").c_str()));
}

TEST_F(RemovalTest, OfAFolderOnlyOwnFilesAndEmptyFoldersGo) {
  for (const char* const name :
       {"a/own", "a/b/own", "a/b/c/own", "a/other/foreign", "elsewhere/own"}) {
    Put(name);
  }
  fs::create_directory_symlink(top_ / "elsewhere", top_ / "a/link");
  const auto is_own = [](std::string_view name) { return name == "own"; };
  RemoveOwnFiles(top_ / "a", is_own);
  EXPECT_FALSE(Has("a/own") || Has("a/b"));
  EXPECT_TRUE(Has("a/other/foreign") && Has("a/link") && Has("elsewhere/own"));
  fs::remove(top_ / "a/link");
  fs::remove(top_ / "a/other/foreign");
  RemoveOwnFiles(top_ / "a", is_own);
  EXPECT_FALSE(Has("a"));
  fs::create_directory_symlink(top_ / "elsewhere", top_ / "a");
  RemoveOwnFiles(top_ / "a", is_own);
  EXPECT_TRUE(Has("a") && Has("elsewhere/own"));
}

}  // namespace
}  // namespace zarrfs::removal_test
