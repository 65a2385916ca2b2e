#include "fs/mount/keeper_name.h"

#include <gtest/gtest.h>
#include <sys/sysmacros.h>
#include <unistd.h>

namespace zarrfs {
namespace {

TEST(KeeperNameTest, NamesThisProcessUntilItIsClosed) {
  const dev_t mount = makedev(4000, getpid());  // no mount's
  EXPECT_TRUE(NamedKeepers(mount).empty());
  Descriptor name = NameKeeper(mount);
  ASSERT_TRUE(name);
  EXPECT_EQ(NamedKeepers(mount), std::vector{getpid()});
  EXPECT_TRUE(NamedKeepers(makedev(4001, getpid())).empty());
  name.reset();
  EXPECT_TRUE(NamedKeepers(mount).empty());
}

TEST(KeeperNameTest, OtherNamesAreIgnored) {
  const std::string line = "0000: 00000002 00000000 00000000 0005 01 555 @zarrfs-keeper/0:57/";
  EXPECT_EQ(KeepersIn(line + "12\n" + line + "99999\n", makedev(0, 57)), (std::vector{12, 99999}));
  EXPECT_EQ(KeepersIn(line + "12", makedev(0, 57)), std::vector{12});
  for (const char* const end : {"", "\n", "12x\n", "-1\n", "0\n", "12 13\n", "99999999999\n"}) {
    EXPECT_TRUE(KeepersIn(line + end, makedev(0, 57)).empty()) << end;
  }
  EXPECT_TRUE(KeepersIn(line + "12\n", makedev(0, 5)).empty());
}

}  // namespace
}  // namespace zarrfs
