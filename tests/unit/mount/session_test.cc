#include "fs/mount/session.h"

#include <gtest/gtest.h>
#include <linux/fuse.h>

#include <cstring>
#include <string>
#include <utility>

#include "fs/fuse/connection.h"
#include "tests/unit/options/parsed_options.h"

namespace zarrfs::session_test {
namespace {

TEST(SessionTest, IoUringIsAskedForWhereItIsOffered) {
  MountOptions options = Options("io_uring");
  const bool is_offered = WhyNoIoUring(options).empty();
  EXPECT_EQ(LibfuseOptions(options).find(",io_uring") != std::string::npos, is_offered);
  EXPECT_EQ(WhyNoIoUring(Options("")), "io_uring is not set");
  options = Options("noio_uring");
  EXPECT_EQ(WhyNoIoUring(options), "noio_uring");
  EXPECT_EQ(LibfuseOptions(options).find(",io_uring"), std::string::npos);
}

TEST(SessionTest, EveryMountIsReadOnlyWithoutDevicesAndSetUidBits) {
  MountOptions options = Options("rw,suid,dev,noexec,allow_other,noio_uring");
  options.source = Source(R"(/data/a,b\c)");
  EXPECT_EQ(LibfuseOptions(options),
            R"(ro,nosuid,nodev,default_permissions,subtype=zarrfs,fsname=/data/a\,b\\c,)"
            "max_read=1048576,allow_other,noexec");
}

TEST(SessionTest, KernelSendsEnoughToKeepTheConnectionsOfAStoreBusy) {
  for (const auto& [connections, background] :
       {std::pair(0U, 64U), {8U, 64U}, {64U, 128U}, {256U, 512U}}) {
    fuse_conn_info connection = {};
    Negotiate(connection, connections);
    EXPECT_EQ(connection.max_background, background) << connections;
    EXPECT_EQ(connection.congestion_threshold, background / 4 * 3) << connections;
  }
}

// FUSE_INIT of a kernel that offers this.
std::string Init(uint32_t flags) {
  struct {
    fuse_in_header header = {};
    fuse_init_in body = {};
  } message;
  message.header.len = sizeof message;
  message.header.opcode = FUSE_INIT;
  message.header.unique = 2;
  message.body.major = FUSE_KERNEL_VERSION;
  message.body.minor = FUSE_KERNEL_MINOR_VERSION;
  message.body.max_readahead = 131072;
  message.body.flags = flags;
  return {reinterpret_cast<const char*>(&message), sizeof message};
}

TEST(SessionTest, AnswerToTheKernelIsKnownWithoutAMount) {
  constexpr uint32_t kOffered = FUSE_ASYNC_READ | FUSE_PARALLEL_DIROPS | FUSE_BIG_WRITES |
                                FUSE_DO_READDIRPLUS | FUSE_READDIRPLUS_AUTO | FUSE_MAX_PAGES;
  const std::string answer = AnswerOf(Options(""), Init(kOffered));
  ASSERT_GE(answer.size(), size_t{FUSE_COMPAT_22_INIT_OUT_SIZE});
  fuse_init_out parsed = {};
  answer.copy(reinterpret_cast<char*>(&parsed), sizeof parsed);
  EXPECT_EQ(parsed.major, uint32_t{FUSE_KERNEL_VERSION});
  EXPECT_NE(parsed.flags & FUSE_PARALLEL_DIROPS, 0U);
  EXPECT_EQ(parsed.time_gran, 1U);
  EXPECT_EQ(AnswerOf(Options("cache=1M,ttl=3"), Init(kOffered)), answer)
      << "that depends on no setting that may change";
  EXPECT_EQ(AnswerOf(Options(""), "something else"), "");
}

// A program that takes over asks for nothing that the first one did not get.
TEST(SessionTest, LaterSessionsAskForNoMoreThanTheFirstWasGiven) {
  constexpr uint32_t kExtended = 1U << 30;
  const std::string offer =
      Init(FUSE_ASYNC_READ | FUSE_PARALLEL_DIROPS | FUSE_BIG_WRITES | FUSE_DO_READDIRPLUS |
           FUSE_READDIRPLUS_AUTO | FUSE_MAX_PAGES | FUSE_NO_OPEN_SUPPORT | kExtended);
  const std::string all = AnswerOf(Options(""), offer);
  EXPECT_EQ(AnswerOf(Options(""), OnlyGiven(offer, all)), all) << "the same program says the same";

  fuse_init_out older = {};
  all.copy(reinterpret_cast<char*>(&older), sizeof older);
  older.flags &= ~uint32_t{FUSE_PARALLEL_DIROPS | FUSE_DO_READDIRPLUS | FUSE_READDIRPLUS_AUTO};
  const std::string then(reinterpret_cast<const char*>(&older), sizeof older);
  EXPECT_NE(DifferentPromise(then, all), "");
  EXPECT_EQ(DifferentPromise(then, AnswerOf(Options(""), OnlyGiven(offer, then))), "");

  EXPECT_EQ(OnlyGiven(offer, ""), offer);
  EXPECT_EQ(OnlyGiven("something else", all), "something else");
}

TEST(SessionTest, OtherPromiseIsNamed) {
  const std::string answer = AnswerOf(Options(""), Init(FUSE_ASYNC_READ));
  EXPECT_EQ(DifferentPromise(answer, answer), "");
  const auto with = [&](auto change) {
    fuse_init_out parsed = {};
    answer.copy(reinterpret_cast<char*>(&parsed), sizeof parsed);
    change(parsed);
    return std::string(reinterpret_cast<const char*>(&parsed), sizeof parsed);
  };
  const std::string flags = with([](fuse_init_out& init) { init.flags |= FUSE_POSIX_ACL; });
  EXPECT_TRUE(DifferentPromise(answer, flags).starts_with("flags 0x"));
  const std::string write = with([](fuse_init_out& init) { init.max_write = 4096; });
  EXPECT_TRUE(DifferentPromise(answer, write).starts_with("max_write 0x1000, not 0x"));
  const std::string background = with([](fuse_init_out& init) { init.max_background = 7; });
  EXPECT_EQ(DifferentPromise(answer, background), "") << "that binds nobody";
  EXPECT_NE(DifferentPromise("", answer), "");
}

}  // namespace
}  // namespace zarrfs::session_test
