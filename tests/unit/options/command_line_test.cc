#include "fs/options/command_line.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "tests/unit/options/parsed_options.h"

namespace zarrfs::command_line_test {
namespace {

TEST(CommandLineTest, TwoPathsAreEnough) {
  const auto line = Parse({"ocean.zarr", "/mnt/ocean"});
  ASSERT_TRUE(line);
  EXPECT_EQ(line->action, CommandLine::Action::kMount);
  EXPECT_EQ(line->options.source.text(), "ocean.zarr");
  EXPECT_EQ(line->options.mountpoint, "/mnt/ocean");
  EXPECT_EQ(line->options.view, "");
  EXPECT_EQ(line->options.separator, '\0');
  EXPECT_EQ(line->options.index_cache, 64U << 20);
  EXPECT_EQ(line->options.ttl, std::nullopt);
  EXPECT_GE(line->options.threads, 4U);
  EXPECT_FALSE(line->options.umask);
  EXPECT_FALSE(line->options.foreground);
}

TEST(CommandLineTest, OptionsMayStandAnywhereAndRepeat) {
  const auto line = Parse({"-oview=v3", "src", "-fo", "ttl=0", "--", "-mnt"});
  ASSERT_TRUE(line) << line.error().message;
  EXPECT_EQ(line->options.view, "v3");
  EXPECT_EQ(line->options.ttl, 0);
  EXPECT_TRUE(line->options.foreground);
  EXPECT_EQ(line->options.mountpoint, "-mnt");
}

TEST(CommandLineTest, OptionsOfOtherMountProgramsAreAccepted) {
  EXPECT_EQ(Parse({"help"})->action, CommandLine::Action::kShowHelp);
  EXPECT_EQ(Parse({"./help"})->action, CommandLine::Action::kMount);
  EXPECT_EQ(Parse({"help", "mnt"})->action, CommandLine::Action::kMount);
  for (const char* word : {"--readonly", "--read-only"}) {
    const auto line = Parse({word, "src", "mnt"});
    ASSERT_TRUE(line) << line.error().message;
    EXPECT_EQ(line->options.mountpoint, "mnt");
  }
}

TEST(CommandLineTest, DebugStaysInTheForeground) {
  const auto line = Parse({"src", "mnt", "-d"});
  ASSERT_TRUE(line);
  EXPECT_TRUE(line->options.debug);
  EXPECT_TRUE(line->options.foreground);
  EXPECT_EQ(line->options.log_level, "debug");
}

TEST(CommandLineTest, MountsHelperPassesItsOwnFlags) {
  const std::vector<const char*> words = {"/sbin/mount.zarrfs",
                                          "src",
                                          "mnt",
                                          "-s",
                                          "-f",
                                          "-n",
                                          "-v",
                                          "-o",
                                          "rw,foo",
                                          "-t",
                                          "zarrfs",
                                          "-N",
                                          "/proc/1/ns/mnt"};
  const auto line = ParseCommandLine(static_cast<int>(words.size()), words.data());
  ASSERT_TRUE(line) << line.error().message;
  EXPECT_TRUE(line->options.fake);
  EXPECT_FALSE(line->options.foreground);
  EXPECT_TRUE(line->options.sloppy);
  EXPECT_TRUE(line->options.verbose);
  EXPECT_EQ(line->options.mountpoint, "mnt");
}

TEST(CommandLineTest, MissingAndSuperfluousArgumentsAreNamed) {
  EXPECT_TRUE(Parse({}).error().message.starts_with("store and mount point are missing"));
  EXPECT_TRUE(Parse({"/"}).error().message.starts_with("mount point is missing"));
  EXPECT_TRUE(Parse({"a", "b", "c"}).error().message.starts_with("unexpected argument 'c'"));
  EXPECT_TRUE(Parse({"a", ""}).error().message.starts_with("empty path"));
  EXPECT_TRUE(Parse({"a", "b", "-o"}).error().message.starts_with("option '-o' needs a value"));
}

TEST(CommandLineTest, AStoreAloneIsMountedUnderItsName) {
  for (const char* store : {"/data/ocean.zarr", "/data/ocean.zarr/", "data/ocean"}) {
    const auto line = Parse({store});
    ASSERT_TRUE(line) << line.error().message;
    EXPECT_EQ(line->options.source.text(), store);
    EXPECT_EQ(line->options.mountpoint, "ocean");
    EXPECT_TRUE(line->options.makes_mountpoint);
  }
  EXPECT_FALSE(Parse({"/data/ocean.zarr", "mnt"})->options.makes_mountpoint);
  EXPECT_FALSE(Parse({"/data/ocean.zarr", "-o", "remount"}));
  const char* const helper[] = {"mount.zarrfs", "/data/ocean.zarr"};
  EXPECT_FALSE(ParseCommandLine(2, helper));
}

TEST(CommandLineTest, HelpAndVersionNeedNoPaths) {
  for (const char* word : {"-h", "--help"}) {
    EXPECT_EQ(Parse({word})->action, CommandLine::Action::kShowHelp);
  }
  for (const char* word : {"-V", "--version"}) {
    EXPECT_EQ(Parse({word})->action, CommandLine::Action::kShowVersion);
  }
  EXPECT_NE(HelpText().find("\n  index_cache=SIZE "), std::string::npos);
  EXPECT_TRUE(VersionText().starts_with("zarrfs " ZARRFS_VERSION " (libfuse 3."));
}

}  // namespace
}  // namespace zarrfs::command_line_test
