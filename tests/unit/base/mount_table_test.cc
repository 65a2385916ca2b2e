#include "zarrcore/base/mount_table.h"

#include <gtest/gtest.h>
#include <sys/sysmacros.h>

#include <string>
#include <string_view>

namespace zarrfs {
namespace {

TEST(MountTableTest, ALineIsPathDeviceTypeSourceAndWhoMounted) {
  const auto table = ParseMountTable(
      "22 28 0:21 / /proc rw,nosuid shared:12 master:3 - proc proc rw\n"
      "nonsense\n"
      "36 35 0:98 / /mnt/a\\040b ro - fuse.zarrfs /data/c\\134d ro,user_id=1000,group_id=100\n");
  ASSERT_EQ(table.size(), 2U);
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

TEST(MountTableTest, APathLiesInTheDeepestMountAndOfThoseOnOneFolderInTheLast) {
  const auto table = ParseMountTable(
      "1 0 0:1 / / rw - ext4 root rw\n"
      "2 1 0:2 / /mnt rw - tmpfs first rw\n"
      "3 2 0:3 / /mnt/ocean ro - fuse.zarrfs /data/ocean ro\n"
      "4 2 0:3 /v2/a\\040b /mnt/bound ro - fuse.zarrfs /data/ocean ro\n"
      "5 2 0:4 / /mnt rw - tmpfs second rw\n");
  const auto source_of = [&](std::string_view path) {
    const auto around = FindMountAround(path, table);
    return around ? around->source + around->root : "";
  };
  EXPECT_EQ(source_of("/home"), "root/");
  EXPECT_EQ(source_of("/mnt"), "second/");
  EXPECT_EQ(source_of("/mnt/other"), "second/");
  EXPECT_EQ(source_of("/mnt/ocean"), "/data/ocean/");
  EXPECT_EQ(source_of("/mnt/ocean/v2/0.0"), "/data/ocean/");
  EXPECT_EQ(source_of("/mnt/oceans"), "second/");
  EXPECT_EQ(source_of("/mnt/bound/0.0"), "/data/ocean/v2/a b");
  EXPECT_FALSE(FindMountAround("/anything", {}));
}

}  // namespace
}  // namespace zarrfs
