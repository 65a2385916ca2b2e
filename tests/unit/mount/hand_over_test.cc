#include "fs/mount/hand_over.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <string>
#include <string_view>
#include <vector>

#include "fs/mount/channel.h"
#include "tests/unit/options/parsed_options.h"

namespace zarrfs::hand_over_test {
namespace {

HandOver Sample() {
  return {.version = "0.1.0",
          .name = "/usr/bin/zarrfs",
          .source = "/data/a=b\nc\xff.zarr",
          .mountpoint = "/mnt/ocean",
          .config_file = "/etc/zarrfs/ocean.conf",
          .config = {"source=/elsewhere", "view=v2"},
          .config_read = {"view=v3"},
          .settings = {"ttl=7", "umask=077"},
          .foreground = 1,
          .made_mountpoint = 1,
          .log_level = "warning",
          .index_cache = 12345,
          .cache = 1U << 30U,
          .memory = 1U << 28U,
          .device_before = 66,
          .device = 67,
          .mount_id = 1234,
          .unique_mount_id = UINT64_MAX,
          .resends = 1,
          .init = std::string("\0\1\xfe=", 4),
          .answer = std::string("\0", 1),
          .connection = 5,
          .shared = 6,
          .worker = 4321,
          .channel = 7,
          .ids = 8,
          .journal = 3,
          .stuck = {"17", "18"},
          .asker = 9};
}

std::string Record(std::string_view text) { return std::string(text) + '\0'; }

std::string WhyNot(const std::string& text) {
  const auto parsed = ParseHandOver(text);
  return parsed ? "" : parsed.error().message;
}

TEST(HandOverTest, TheNextProgramReadsWhatThisOneHasWritten) {
  const auto parsed = ParseHandOver(ToText(Sample()));
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_EQ(*parsed, Sample());
  EXPECT_EQ(DescriptorsOf(*parsed), (std::vector<int>{5, 6, 7, 8, 9}));
}

TEST(HandOverTest, OtherFormatsAreRefusedByTheirNumber) {
  HandOver state = Sample();
  state.format = 1;
  const auto parsed = ParseHandOver(ToText(state));
  ASSERT_FALSE(parsed);
  EXPECT_EQ(parsed.error().code, ErrorCode::kUnsupported);
  EXPECT_EQ(parsed.error().message,
            "hand-over: expected format 3, found 1: unmount and mount again instead");
  // Whatever follows.
  EXPECT_NE(WhyNot(Record("zarrfs-hand-over=4") + "nonsense").find("found 4"), std::string::npos);
}

TEST(HandOverTest, WhatDoesNotHoldTogetherIsRefused) {
  const std::string text = ToText(Sample());
  EXPECT_NE(WhyNot(""), "");
  EXPECT_EQ(WhyNot(Record("source=/a") + text),
            "hand-over: expected 'zarrfs-hand-over=', found "
            "'source=/a'");
  EXPECT_EQ(WhyNot(text + Record("source=/a")), "hand-over: duplicate 'source'");
  EXPECT_EQ(WhyNot(text + Record("zarrfs-hand-over=2")),
            "hand-over: unexpected 'zarrfs-hand-over=2'");
  EXPECT_EQ(WhyNot(text + Record("future=1")), "hand-over: unexpected 'future=1'");
  EXPECT_EQ(WhyNot(text + Record("stuck=1x")), "hand-over: inconsistent");
  EXPECT_EQ(WhyNot(text + Record("setting=more")), "") << "lists may be longer";
  for (size_t size = 0; size < text.size(); ++size) {
    EXPECT_NE(WhyNot(text.substr(0, size)), "") << size;
  }
  // Each record but those of lists is needed, and its value is checked.
  size_t needed = 0;
  for (size_t begin = 0, end = 0; begin < text.size(); begin = end) {
    end = text.find('\0', begin) + 1;
    const std::string name = text.substr(begin, text.find('=', begin) - begin);
    const bool is_list =
        name == "config" || name == "config_read" || name == "setting" || name == "stuck";
    const std::string without = text.substr(0, begin) + text.substr(end);
    EXPECT_EQ(WhyNot(without).empty(), is_list) << name;
    needed += is_list ? 0U : 1U;
  }
  EXPECT_GT(needed, 20U);
}

TEST(HandOverTest, ValuesAreChecked) {
  const std::string text = ToText(Sample());
  for (const auto& [good, bad] : std::vector<std::pair<std::string, std::string>>{
           {"source=/data", "source=data"},
           {"mountpoint=/mnt", "mountpoint=mnt"},
           {"log_level=warning", "log_level=loud"},
           {"foreground=1", "foreground=2"},
           {"worker=4321", "worker=0"},
           {"worker=4321", "worker=-1"},
           {"worker=4321", "worker=99999999999"},
           {"connection=5", "connection=99999999999"},
           {"connection=5", "connection=0x5"},
           {"cache=1073741824", "cache=18446744073709551616"},
           {"init=0001fe3d", "init=0001fe3"},
           {"init=0001fe3d", "init=0001fe3g"}}) {
    std::string changed = text;
    const size_t at = changed.find('\0' + good);
    ASSERT_NE(at, std::string::npos) << good;
    changed.replace(at + 1, good.size(), bad);
    EXPECT_NE(WhyNot(changed), "") << bad;
  }
}

TEST(HandOverTest, OptionsAreThoseInForce) {
  HandOver state = Sample();
  auto options = OptionsOf(state);
  ASSERT_TRUE(options) << options.error().message;
  EXPECT_EQ(options->source.text(), state.source);
  EXPECT_EQ(options->mountpoint, "/mnt/ocean");
  EXPECT_EQ(options->view, "v2");
  EXPECT_EQ(options->ttl, 7.0);
  EXPECT_EQ(options->umask, 077U);
  EXPECT_EQ(options->index_cache, 12345U);
  EXPECT_EQ(options->cache, uint64_t{1} << 30U);
  EXPECT_EQ(options->memory, uint64_t{1} << 28U);
  EXPECT_EQ(options->log_level, "warning");
  EXPECT_EQ(options->config, std::vector<std::string>{"view=v3"}) << "with which a reload compares";
  EXPECT_TRUE(options->foreground);

  state.settings.emplace_back("from_the_past=1");
  options = OptionsOf(state);
  ASSERT_FALSE(options);
  EXPECT_NE(options.error().message.find("unknown option 'from_the_past=1'"), std::string::npos);
  state.sloppy = 1;
  EXPECT_TRUE(OptionsOf(state)) << "as when it was mounted";
}

TEST(HandOverTest, OptionsComeThrough) {
  MountOptions options = Options("view=v2,cache=3M,hand_over=1");
  options.source = Source("/data/ocean.zarr");
  options.mountpoint = "/mnt/ocean";
  const HandOver state = WithOptions(options, {"ttl=3"});
  const auto again = OptionsOf(state);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->view, "v2");
  EXPECT_EQ(again->cache, uint64_t{3} << 20U);
  EXPECT_EQ(again->ttl, 3.0);
}

// What a worker is started with.
TEST(HandOverTest, IsForAKeeperOrForAWorker) {
  MountOptions options = Options("view=v2");
  options.source = Source("/data/ocean.zarr");
  options.mountpoint = "/mnt/ocean";
  HandOver state = WithOptions(options, {});
  EXPECT_EQ(WhyNot(ToText(state)), "hand-over: inconsistent") << "for nobody";
  state.keeper = 12;
  state.takes_over = 1;
  state.channel = 7;
  state.fetch_socket = 8;
  const auto parsed = ParseHandOver(ToText(state));
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_EQ(*parsed, state);
  EXPECT_EQ(DescriptorsOf(*parsed), (std::vector<int>{7, 8}));
  state.worker = 13;
  EXPECT_EQ(WhyNot(ToText(state)), "hand-over: inconsistent") << "for both";
}

TEST(HandOverTest, StartOfAWorkerIsChecked) {
  const Descriptor null(open("/dev/null", O_RDWR | O_CLOEXEC));
  auto channel = Channel::MakePair();
  ASSERT_TRUE(channel);
  HandOver state = Sample();
  state.connection = state.shared = state.ids = state.asker = HandOver::kNoDescriptor;
  state.keeper = static_cast<uint64_t>(getppid());
  state.channel = static_cast<uint64_t>(channel->first.fd());
  EXPECT_TRUE(CheckWorkerStart(state));
  state.source = "s3://bucket/store";
  EXPECT_FALSE(CheckWorkerStart(state)) << "without a fetcher";
  state.source = "/data";
  for (auto member : {&HandOver::channel, &HandOver::ids, &HandOver::root, &HandOver::fetch_socket,
                      &HandOver::fetch_memory}) {
    HandOver wrong = state;
    wrong.*member = NumberFor(null);
    EXPECT_FALSE(CheckWorkerStart(wrong));
  }
  state.keeper += 1;
  EXPECT_FALSE(CheckWorkerStart(state)) << "another parent";
}

TEST(HandOverTest, MemoryFileIsReadAndNothingElse) {
  const int file = memfd_create("test", MFD_CLOEXEC);
  ASSERT_EQ(write(file, "abc", 3), 3);
  const auto text = ReadHandOver(Descriptor(file));
  ASSERT_TRUE(text);
  EXPECT_EQ(*text, "abc");
  EXPECT_FALSE(ReadHandOver(Descriptor(open("/dev/zero", O_RDONLY | O_CLOEXEC))));
  EXPECT_FALSE(ReadHandOver(Descriptor()));
  const int large = memfd_create("test", MFD_CLOEXEC);
  ASSERT_EQ(ftruncate(large, static_cast<off_t>(HandOver::kMaxBytes) + 1), 0);
  EXPECT_FALSE(ReadHandOver(Descriptor(large)));
}

// Descriptors that are open, but of another kind.
TEST(HandOverTest, InheritedDescriptorsAreChecked) {
  const Descriptor null(open("/dev/null", O_RDWR | O_CLOEXEC));
  HandOver state = Sample();
  for (auto member : {&HandOver::connection, &HandOver::shared, &HandOver::channel, &HandOver::ids,
                      &HandOver::asker}) {
    state.*member = NumberFor(null);
  }
  const auto checked = CheckInherited(state);
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().message, "hand-over: descriptors are not what they should be");
}

}  // namespace
}  // namespace zarrfs::hand_over_test
