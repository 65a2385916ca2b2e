#include "zarrcore/os/mount_table.h"

#include <gtest/gtest.h>
#include <sys/sysmacros.h>

#include <string>
#include <string_view>

namespace zarrfs::mount_table_test {
namespace {

TEST(MountTableTest, ALineHasPathDeviceTypeSourceAndUser) {
  const auto table = ParseMountTable(
      "22 28 0:21 / /proc rw,nosuid shared:12 master:3 - proc proc rw\n"
      "nonsense\n"
      "36 35 0:98 / /mnt/a\\040b ro - fuse.zarrfs /data/c\\134d ro,user_id=1000,group_id=100\n");
  ASSERT_EQ(table.size(), 2U);
  EXPECT_EQ(table[0].id, 22U);
  EXPECT_EQ(table[0].parent, 28U);
  EXPECT_EQ(table[0].path, "/proc");
  EXPECT_EQ(table[0].type, "proc");
  EXPECT_EQ(table[0].user, 0U);
  EXPECT_EQ(table[1].path, "/mnt/a b");
  EXPECT_EQ(table[1].root, "/");
  EXPECT_EQ(table[1].options, "ro");
  EXPECT_EQ(table[1].device, makedev(0, 98));
  EXPECT_EQ(table[1].type, kMountType);
  EXPECT_EQ(table[1].source, "/data/c\\d");
  EXPECT_EQ(table[1].user, 1000U);
  EXPECT_EQ(table[1].group, 100U);
}

// The source and the root, joined, of the mount that contains `path`.
std::string SourceOf(std::string_view path, std::string_view mountinfo) {
  const auto mounts = MountsAlong(path, ParseMountTable(mountinfo));
  return mounts.empty() ? "" : mounts.back().source + mounts.back().root;
}

TEST(MountTableTest, AnOverlayNamesItsLayers) {
  using Layers = std::vector<std::string>;
  EXPECT_EQ(OverlayLayers("rw,lowerdir=/a:/b,upperdir=/u,workdir=/w"), (Layers{"/a", "/b", "/u"}));
  EXPECT_EQ(OverlayLayers("ro,lowerdir+=/a\\:b,datadir+=/d"), (Layers{"/a:b", "/d"}));
  EXPECT_EQ(OverlayLayers("rw,user_id=0"), Layers{});
  const auto table =
      ParseMountTable("31 1 0:30 / / rw - overlay overlay rw,lowerdir=/x\\0401:/y,upperdir=/z\n");
  ASSERT_EQ(table.size(), 1U);
  EXPECT_EQ(OverlayLayers(table[0].file_system_options), (Layers{"/x 1", "/y", "/z"}));
}

TEST(MountTableTest, APathLiesInTheDeepestMount) {
  const char* const table =
      "1 0 0:1 / / rw - ext4 root rw\n"
      "2 1 0:2 / /mnt rw - tmpfs mnt rw\n"
      "3 2 0:3 / /mnt/ocean ro - fuse.zarrfs /data/ocean ro\n"
      "4 2 0:3 /v2/a\\040b /mnt/bound ro - fuse.zarrfs /data/ocean ro\n";
  EXPECT_EQ(SourceOf("/home", table), "root/");
  EXPECT_EQ(SourceOf("/mnt", table), "mnt/");
  EXPECT_EQ(SourceOf("/mnt/other", table), "mnt/");
  EXPECT_EQ(SourceOf("/mnt/ocean", table), "/data/ocean/");
  EXPECT_EQ(SourceOf("/mnt/ocean/v2/0.0", table), "/data/ocean/");
  EXPECT_EQ(SourceOf("/mnt/oceans", table), "mnt/");
  EXPECT_EQ(SourceOf("/mnt/bound/0.0", table), "/data/ocean/v2/a b");
  EXPECT_EQ(SourceOf("/anything", ""), "");
}

TEST(MountTableTest, TheTopOfAStackIsTheChildNotTheLastLine) {
  // Mount 85 was made first, and later moved over 86.
  const char* const table =
      "65 1 0:1 / / rw - ext4 root rw\n"
      "85 86 0:40 / /mnt rw - tmpfs moved rw\n"
      "86 65 0:41 / /mnt rw - tmpfs younger rw\n";
  EXPECT_EQ(SourceOf("/mnt", table), "moved/");
  EXPECT_EQ(SourceOf("/mnt/a", table), "moved/");
}

TEST(MountTableTest, ACoveredMountIsNotFound) {
  const char* const table =
      "1 1 0:1 / / rw - ext4 root rw\n"
      "3 1 0:3 / /mnt/ocean ro - fuse.zarrfs /data/ocean ro\n"
      "5 1 0:4 / /mnt rw - tmpfs cover rw\n";
  EXPECT_EQ(SourceOf("/mnt/ocean", table), "cover/");
}

TEST(MountTableTest, AProcessWhoseRootIsNoMountSeesThoseBelowIt) {
  EXPECT_EQ(SourceOf("/data/a", "7 3 0:7 / /data rw - tmpfs data rw\n"), "data/");
  EXPECT_EQ(SourceOf("/other", "7 3 0:7 / /data rw - tmpfs data rw\n"), "");
}

}  // namespace
}  // namespace zarrfs::mount_table_test
