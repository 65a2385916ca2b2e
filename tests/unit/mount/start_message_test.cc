#include "fs/mount/start_message.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "fs/mount/channel.h"
#include "tests/unit/options/parsed_options.h"

namespace zarrfs::start_message_test {
namespace {

StartMessage Sample() {
  return {.version = "0.1.0",
          .keeper = 4321,
          .source = "/data/a=b\nc\xff.zarr",
          .mountpoint = "/mnt/ocean",
          .config_file = "/etc/zarrfs/ocean.conf",
          .config = {"source=/elsewhere", "view=v2"},
          .config_read = {"view=v3"},
          .settings = {"ttl=7", "umask=077"},
          .virtual_text = "file:///data/nc/\n# a=b\n",
          .foreground = 1,
          .log_level = "warning",
          .index_cache = 12345,
          .cache = 1U << 30U,
          .memory = 1U << 28U,
          .takes_over = 1,
          .channel = 7,
          .ids = 8,
          .secrets = {"417574683a2078,1000,7369673d31,,353a360a", ",,,,"},
          .journal = 3,
          .init = std::string("\0\1\xfe=", 4),
          .answer = std::string("\0", 1)};
}

std::string Record(std::string_view text) { return std::string(text) + '\0'; }

std::string WhyNot(const std::string& text) {
  const auto parsed = ParseStartMessage(text);
  return parsed ? "" : parsed.error().message;
}

TEST(StartMessageTest, TheNextProgramReadsWhatThisOneHasWritten) {
  const auto parsed = ParseStartMessage(ToText(Sample()));
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_EQ(*parsed, Sample());
  EXPECT_EQ(DescriptorsOf(*parsed), (std::vector<int>{7, 8}));
}

TEST(StartMessageTest, OtherFormatsAreRefusedByTheirNumber) {
  StartMessage state = Sample();
  state.format = 1;
  const auto parsed = ParseStartMessage(ToText(state));
  ASSERT_FALSE(parsed);
  EXPECT_EQ(parsed.error().code, ErrorCode::kUnsupported);
  EXPECT_EQ(parsed.error().message,
            "start message: expected format 6, found 1: unmount and mount again instead");
  // Whatever follows.
  EXPECT_NE(WhyNot(Record("zarrfs-start=7") + "nonsense").find("found 7"), std::string::npos);
}

TEST(StartMessageTest, WhatDoesNotHoldTogetherIsRefused) {
  const std::string text = ToText(Sample());
  EXPECT_NE(WhyNot(""), "");
  EXPECT_EQ(WhyNot(Record("source=/a") + text),
            "start message: expected 'zarrfs-start=', found "
            "'source=/a'");
  EXPECT_EQ(WhyNot(text + Record("source=/a")), "start message: duplicate 'source'");
  EXPECT_EQ(WhyNot(text + Record("zarrfs-start=2")), "start message: unexpected 'zarrfs-start=2'");
  EXPECT_EQ(WhyNot(text + Record("future=1")), "start message: unexpected 'future=1'");
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
        name == "config" || name == "config_read" || name == "setting" || name == "secrets";
    const std::string without = text.substr(0, begin) + text.substr(end);
    EXPECT_EQ(WhyNot(without).empty(), is_list) << name;
    needed += is_list ? 0U : 1U;
  }
  EXPECT_GT(needed, 15U);
}

TEST(StartMessageTest, ValuesAreChecked) {
  const std::string text = ToText(Sample());
  for (const auto& [good, bad] : std::vector<std::pair<std::string, std::string>>{
           {"source=/data", "source=data"},
           {"mountpoint=/mnt", "mountpoint=mnt"},
           {"log_level=warning", "log_level=loud"},
           {"foreground=1", "foreground=2"},
           {"keeper=4321", "keeper=0"},
           {"keeper=4321", "keeper=-1"},
           {"keeper=4321", "keeper=99999999999"},
           {"channel=7", "channel=99999999999"},
           {"channel=7", "channel=0x7"},
           {"cache=1073741824", "cache=18446744073709551616"},
           {"virtual_text=66", "virtual_text=6"},
           {"secrets=41", "secrets=4"},
           {"secrets=417574683a2078,", "secrets=417574683a2078"},
           {"secrets=,,,,", "secrets=,,,"},
           {"secrets=,,,,", "secrets=,,,,,"},
           {"secrets=,,,,", "secrets=,x,,,"},
           {"secrets=,,,,", "secrets=,4294967296,,,"},
           {"init=0001fe3d", "init=0001fe3"},
           {"init=0001fe3d", "init=0001fe3g"}}) {
    std::string changed = text;
    const size_t at = changed.find('\0' + good);
    ASSERT_NE(at, std::string::npos) << good;
    changed.replace(at + 1, good.size(), bad);
    EXPECT_NE(WhyNot(changed), "") << bad;
  }
}

TEST(StartMessageTest, OptionsAreThoseInForce) {
  StartMessage state = Sample();
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
  ASSERT_EQ(options->virtual_prefixes.size(), 1U) << "of virtual_text";
  EXPECT_EQ(options->virtual_prefixes.front().Text(), "file:///data/nc/");

  state.settings.emplace_back("from_the_past=1");
  options = OptionsOf(state);
  ASSERT_FALSE(options);
  EXPECT_NE(options.error().message.find("unknown option 'from_the_past=1'"), std::string::npos);
  state.sloppy = 1;
  EXPECT_TRUE(OptionsOf(state)) << "as when it was mounted";
}

TEST(StartMessageTest, OptionsComeThrough) {
  MountOptions options = Options("view=v2,cache=3M,start_format=1");
  options.source = Source("/data/ocean.zarr");
  options.mountpoint = "/mnt/ocean";
  const StartMessage state = WithOptions(options, {"ttl=3"});
  const auto again = OptionsOf(state);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->view, "v2");
  EXPECT_EQ(again->cache, uint64_t{3} << 20U);
  EXPECT_EQ(again->ttl, 3.0);
}

TEST(StartMessageTest, SecretsAreThoseOfTheStoreAndOfEachPrefix) {
  const std::vector<SecretTexts> secrets = {
      {.are_read = true,
       .headers = {.text = std::string("Token: x,\n\0", 11), .owner = 1000},
       .query = {.text = "sig=1%2B", .owner = {}},
       .version = "5:6\n"},
      {.are_read = true},
      {.are_read = true, .query = {.text = "", .owner = UINT32_MAX}}};
  StartMessage state = Sample();
  SetSecrets(secrets, state);
  const auto parsed = ParseStartMessage(ToText(state));
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_EQ(SecretsOf(*parsed), secrets);
}

TEST(StartMessageTest, AFileOfPrefixesThatIsWrongIsRefused) {
  StartMessage state = Sample();
  state.virtual_text = "nonsense\n";
  EXPECT_FALSE(OptionsOf(state));
}

TEST(StartMessageTest, StartOfAWorkerIsChecked) {
  const Descriptor null(open("/dev/null", O_RDWR | O_CLOEXEC));
  auto channel = Channel::MakePair();
  ASSERT_TRUE(channel);
  StartMessage state = Sample();
  state.ids = StartMessage::kNoDescriptor;
  state.keeper = static_cast<uint64_t>(getppid());
  state.channel = static_cast<uint64_t>(channel->first.fd());
  EXPECT_TRUE(CheckWorkerStart(state));
  state.source = "s3://bucket/store";
  EXPECT_FALSE(CheckWorkerStart(state)) << "without a fetcher";
  state.source = "/data";
  for (auto member : {&StartMessage::channel, &StartMessage::ids, &StartMessage::root,
                      &StartMessage::fetch_socket, &StartMessage::fetch_memory}) {
    StartMessage wrong = state;
    wrong.*member = NumberFor(null);
    EXPECT_FALSE(CheckWorkerStart(wrong));
  }
  state.keeper += 1;
  EXPECT_FALSE(CheckWorkerStart(state)) << "another parent";
}

TEST(StartMessageTest, StartOfAFetcherIsChecked) {
  std::array<int, 2> pipe = {-1, -1};
  ASSERT_EQ(pipe2(pipe.data(), O_CLOEXEC), 0);
  const Descriptor ends[] = {Descriptor(pipe[0]), Descriptor(pipe[1])};
  const Descriptor memory(memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  auto channel = Channel::MakePair();
  ASSERT_TRUE(channel);
  StartMessage state = Sample();
  state.ids = state.channel = StartMessage::kNoDescriptor;
  state.keeper = static_cast<uint64_t>(getppid());
  state.fetch_socket = static_cast<uint64_t>(channel->first.fd());
  state.fetch_memory = NumberFor(memory);
  state.begun = NumberFor(ends[1]);
  EXPECT_TRUE(CheckFetcherStart(state));
  for (auto member :
       {&StartMessage::fetch_socket, &StartMessage::fetch_memory, &StartMessage::begun}) {
    StartMessage wrong = state;
    wrong.*member = StartMessage::kNoDescriptor;
    EXPECT_FALSE(CheckFetcherStart(wrong));
    wrong.*member = 2;  // another one's
    EXPECT_FALSE(CheckFetcherStart(wrong));
  }
  state.keeper += 1;
  EXPECT_FALSE(CheckFetcherStart(state)) << "another parent";
}

TEST(StartMessageTest, MemoryFileIsReadAndNothingElse) {
  const int file = memfd_create("test", MFD_CLOEXEC);
  ASSERT_EQ(write(file, "abc", 3), 3);
  const auto text = ReadStartMessage(Descriptor(file));
  ASSERT_TRUE(text);
  EXPECT_EQ(*text, "abc");
  EXPECT_FALSE(ReadStartMessage(Descriptor(open("/dev/zero", O_RDONLY | O_CLOEXEC))));
  EXPECT_FALSE(ReadStartMessage(Descriptor()));
  const int large = memfd_create("test", MFD_CLOEXEC);
  ASSERT_EQ(ftruncate(large, static_cast<off_t>(StartMessage::kMaxBytes) + 1), 0);
  EXPECT_FALSE(ReadStartMessage(Descriptor(large)));
}

TEST(StartMessageTest, StartOfATrialIsChecked) {
  const Descriptor null(open("/dev/null", O_RDWR | O_CLOEXEC));
  const Descriptor folder(open("/", O_PATH | O_CLOEXEC));
  StartMessage state = Sample();
  state.ids = state.channel = StartMessage::kNoDescriptor;
  state.keeper = static_cast<uint64_t>(getppid());
  EXPECT_TRUE(CheckTrialStart(state));
  state.root = NumberFor(folder);
  EXPECT_TRUE(CheckTrialStart(state));
  state.root = NumberFor(null);
  EXPECT_FALSE(CheckTrialStart(state));
  state.root = StartMessage::kNoDescriptor;
  state.keeper += 1;
  EXPECT_FALSE(CheckTrialStart(state)) << "another parent";
}

}  // namespace
}  // namespace zarrfs::start_message_test
