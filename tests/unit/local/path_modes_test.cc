#include "zarrcore/local/path_modes.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <vector>

#include "tests/unit/local/local_store_testing.h"

namespace zarrfs::path_modes_test {
namespace {

TEST(ModeMask, AClassOfUsersKeepsItsBitsOnlyIfEachFolderLetsItThrough) {
  constexpr uint32_t kAlice = 1001, kBob = 1002, kReader = 1003, kLab = 2001, kStaff = 2002;
  struct Case {
    std::vector<FolderMode> folders;
    uint32_t uid, gid, mask;
  };
  const Case cases[] = {
      {{}, kAlice, kLab, 0777},
      {{{0755, kBob, kStaff}}, kAlice, kLab, 0777},
      {{{0700, kAlice, kLab}}, kAlice, kLab, 0700},
      {{{0750, kAlice, kLab}}, kAlice, kLab, 0770},
      {{{0755, 0, 0}, {0750, kAlice, kLab}}, kAlice, kLab, 0770},
      // If the folder has another owner or group, only x bits of both group and others count.
      {{{0750, kBob, kLab}}, kAlice, kLab, 0070},
      {{{0711, kBob, kStaff}}, kAlice, kLab, 0777},
      {{{0710, kBob, kStaff}}, kAlice, kLab, 0},
      {{{0644, kAlice, kLab}}, kAlice, kLab, 0},
      // The reader may pass through all folders.
      {{{0, kBob, kStaff}}, kReader, kLab, 0700},
  };
  for (const auto& [folders, uid, gid, mask] : cases) {
    EXPECT_EQ(ModeMask(folders, uid, gid, kReader), mask) << std::oct << mask;
  }
}

TEST_F(LocalStoreTest, AnObjectIsAsClosedAsTheFoldersAboveIt) {
  Write("a/c/0/0", "x");
  const auto set_mode = [&](const char* key, mode_t mode) {
    ASSERT_EQ(chmod((root / key).c_str(), mode), 0);
  };
  for (const char* key : {"a", "a/c", "a/c/0"}) set_mode(key, 0755);
  set_mode("a/c/0/0", 0644);
  const auto store = Open();
  ASSERT_TRUE(store->StartWatching([](const Changes&) {}, [](std::string_view) {}));
  EXPECT_EQ(store->Stat("a/c/0/0")->mode, 0644U);
  const Version before = store->Stat("a/c/0/0")->version;
  const uint64_t count = store->change_count();
  set_mode("a/c", 0700);
  for (int i = 0; i < 1000 && store->change_count() == count; ++i) usleep(5000);
  EXPECT_EQ(store->Stat("a/c/0/0")->mode, 0600U);
  EXPECT_EQ(store->Stat("a/c/0")->mode, 0700U);
  EXPECT_EQ(store->Stat("a/c")->mode, 0700U);
  EXPECT_NE(store->Stat("a/c/0/0")->version, before) << "who has it open has other permissions";
  EXPECT_EQ(OpenLocalStore(root.string(), {.others_read = false}).value()->Stat("a/c/0/0")->mode,
            0644U);
}

}  // namespace
}  // namespace zarrfs::path_modes_test
