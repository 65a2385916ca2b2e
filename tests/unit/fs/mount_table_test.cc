#include "fs/mount_table.h"

#include <gtest/gtest.h>
#include <sys/sysmacros.h>

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
  EXPECT_EQ(table[1].device, makedev(0, 98));
  EXPECT_EQ(table[1].type, kMountType);
  EXPECT_EQ(table[1].source, "/data/c\\d");
  EXPECT_EQ(table[1].user, 1000U);
  EXPECT_EQ(table[1].group, 100U);
}

}  // namespace
}  // namespace zarrfs
