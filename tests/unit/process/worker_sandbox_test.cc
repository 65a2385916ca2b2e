#include "fs/process/worker_sandbox.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace zarrfs::worker_sandbox_test {
namespace {

// A machine with a disk, a file server, an automount, and what every machine has.
std::vector<Mounted> Table() {
  return ParseMountTable(
      "20 1 8:1 / / rw - ext4 /dev/sda1 rw\n"
      "21 20 0:20 / /proc rw - proc proc rw\n"
      "22 21 0:21 / /proc/sys/fs/binfmt_misc rw - autofs systemd-1 rw\n"
      "23 20 0:22 / /sys rw - sysfs sysfs rw\n"
      "24 20 8:2 / /data rw - xfs /dev/sdb rw\n"
      "25 24 8:3 / /data/old rw - btrfs /dev/sdc rw\n"
      "26 24 0:23 / /data/mnt ro - fuse.zarrfs /data/store rw\n"
      "27 20 0:24 / /home rw - nfs4 server:/home rw\n"
      "28 20 0:25 / /net rw - autofs auto.net rw\n"
      "29 20 0:26 / /archive ro - fuse.squashfuse archive ro\n");
}

TEST(WhyNotLocal, ADiskWithDisksOnItIs) {
  EXPECT_EQ(WhyNotLocal({{"/srv/store", 20}}, Table()), "");
  EXPECT_EQ(WhyNotLocal({{"/data", 24}}, Table()), "");
  EXPECT_EQ(WhyNotLocal({}, Table()), "") << "as for a caretaker";
}

TEST(WhyNotLocal, AServerIsNotWhereverItIsMountedBelow) {
  EXPECT_EQ(WhyNotLocal({{"/home/ann/store", 27}}, Table()), "nfs4 at /home");
  EXPECT_EQ(WhyNotLocal({{"/srv", 20}, {"/home/ann", 27}}, Table()), "nfs4 at /home");
  EXPECT_EQ(WhyNotLocal({{"/archive/store", 29}}, Table()), "fuse.squashfuse at /archive");
  EXPECT_EQ(WhyNotLocal({{"/", 20}}, Table()), "nfs4 at /home");
}

TEST(WhyNotLocal, AnAutomountMayBecomeAnything) {
  EXPECT_EQ(WhyNotLocal({{"/net", 28}}, Table()), "autofs at /net");
}

// The mount counts that the folder was opened on, not one that lies over its path by now.
TEST(WhyNotLocal, AStoreBelowItsOwnMountIs) {
  EXPECT_EQ(WhyNotLocal({{"/data/mnt", 24}}, Table()), "");
}

// As in a chroot whose root is no mount point.
TEST(WhyNotLocal, WithoutALineOfTheMountTheFileSystemsTypeDecides) {
  constexpr uint32_t kExt4 = 0xEF53, kNfs = 0x6969;
  EXPECT_EQ(WhyNotLocal({{"/data", 99, kExt4}}, {}), "");
  EXPECT_EQ(WhyNotLocal({{"/data", 0, kNfs}}, {}), "file system 0x6969 at /data");
  EXPECT_EQ(WhyNotLocal({{"/data", 99}}, {}), "file system 0x0 at /data");
  EXPECT_EQ(WhyNotLocal({{"/", 99, kExt4}}, Table()), "nfs4 at /home") << "mounted below";
  EXPECT_EQ(WhyNotLocal({{"/home/ann", 27, kExt4}}, Table()), "nfs4 at /home");
}

}  // namespace
}  // namespace zarrfs::worker_sandbox_test
