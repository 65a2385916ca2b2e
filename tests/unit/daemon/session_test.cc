#include "fs/daemon/session.h"

#include <gtest/gtest.h>

#include "tests/unit/daemon/parsed_options.h"

namespace zarrfs::session_test {
namespace {

TEST(SessionTest, IoUringIsAskedForWhereItIsOffered) {
  MountOptions options = Options("io_uring");
  const bool is_offered = WhyNoIoUring(options).empty();
  EXPECT_EQ(LibfuseOptions(options).ends_with(",io_uring"), is_offered);
  EXPECT_EQ(WhyNoIoUring(Options("")), "io_uring is not asked for");
  options = Options("noio_uring");
  EXPECT_EQ(WhyNoIoUring(options), "noio_uring");
  EXPECT_FALSE(LibfuseOptions(options).ends_with(",io_uring"));
}

TEST(SessionTest, EveryMountIsReadOnlyWithoutDevicesAndSetUidBits) {
  MountOptions options = Options("rw,suid,dev,noexec,allow_other,noio_uring");
  options.source = R"(/data/a,b\c)";
  EXPECT_EQ(LibfuseOptions(options),
            R"(ro,nosuid,nodev,default_permissions,subtype=zarrfs,fsname=/data/a\,b\\c,)"
            "max_read=1048576,allow_other,noexec");
}

}  // namespace
}  // namespace zarrfs::session_test
