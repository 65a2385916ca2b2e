#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "fs/daemon/command_line.h"
#include "fs/daemon/option_table.h"
#include "fs/daemon/session.h"
#include "fs/daemon/settings.h"

namespace zarrfs {
namespace {

Result<CommandLine> Parse(std::vector<const char*> words) {
  words.insert(words.begin(), "/usr/bin/zarrfs");
  return ParseCommandLine(static_cast<int>(words.size()), words.data());
}

MountOptions Options(const char* list) {
  const auto line = Parse({"src", "mnt", "-o", list});
  EXPECT_TRUE(line) << list << ": " << line.error().message;
  return line ? line->options : MountOptions();
}

std::string ErrorOf(const char* list) {
  const auto line = Parse({"src", "mnt", "-o", list});
  return line ? "" : line.error().message;
}

TEST(OptionsTest, TwoPathsAreEnough) {
  const auto line = Parse({"ocean.zarr", "/mnt/ocean"});
  ASSERT_TRUE(line);
  EXPECT_EQ(line->action, CommandLine::Action::kMount);
  EXPECT_EQ(line->options.source, "ocean.zarr");
  EXPECT_EQ(line->options.mountpoint, "/mnt/ocean");
  EXPECT_EQ(line->options.view, "");
  EXPECT_EQ(line->options.separator, '\0');
  EXPECT_EQ(line->options.index_cache, 64U << 20);
  EXPECT_EQ(line->options.ttl, std::nullopt);
  EXPECT_GE(line->options.threads, 4U);
  EXPECT_FALSE(line->options.umask);
  EXPECT_FALSE(line->options.foreground);
}

TEST(OptionsTest, EachOptionArrives) {
  const MountOptions options = Options(
      "view=v2,separator=/,ttl=0.5,index_cache=1G,threads=3,uid=1000,gid=100,umask=027,"
      "log_level=warning,immutable,allow_other,nonempty,noexec");
  EXPECT_EQ(options.view, "v2");
  EXPECT_EQ(options.separator, '/');
  EXPECT_EQ(options.ttl, 0.5);
  EXPECT_EQ(options.index_cache, 1U << 30);
  EXPECT_EQ(options.threads, 3U);
  EXPECT_EQ(options.uid, 1000U);
  EXPECT_EQ(options.gid, 100U);
  EXPECT_EQ(options.umask, 027U);
  EXPECT_EQ(options.log_level, "warning");
  EXPECT_TRUE(options.immutable);
  EXPECT_EQ(options.allow_other, true);
  EXPECT_TRUE(options.nonempty);
  EXPECT_EQ(options.kernel_options, std::vector<std::string>{"noexec"});
}

TEST(OptionsTest, OptionsMayStandAnywhereAndRepeat) {
  const auto line = Parse({"-oview=v3", "src", "-fo", "ttl=0", "--", "-mnt"});
  ASSERT_TRUE(line) << line.error().message;
  EXPECT_EQ(line->options.view, "v3");
  EXPECT_EQ(line->options.ttl, 0);
  EXPECT_TRUE(line->options.foreground);
  EXPECT_EQ(line->options.mountpoint, "-mnt");
}

TEST(OptionsTest, DebugStaysInTheForeground) {
  const auto line = Parse({"src", "mnt", "-d"});
  ASSERT_TRUE(line);
  EXPECT_TRUE(line->options.debug);
  EXPECT_TRUE(line->options.foreground);
  EXPECT_EQ(line->options.log_level, "debug");
}

TEST(OptionsTest, WordsOfMountAndFstabAreAccepted) {
  for (const char* word : {"rw",
                           "ro",
                           "defaults",
                           "auto",
                           "noauto",
                           "nosuid",
                           "nodev",
                           "suid",
                           "dev",
                           "exec",
                           "noexec",
                           "noatime",
                           "atime",
                           "relatime",
                           "norelatime",
                           "strictatime",
                           "diratime",
                           "nodiratime",
                           "sync",
                           "async",
                           "dirsync",
                           "user",
                           "user=ann",
                           "users",
                           "nouser",
                           "owner",
                           "group",
                           "nofail",
                           "_netdev",
                           "x-systemd.automount",
                           "x-a=b",
                           "comment=x",
                           "fsname=y",
                           "subtype=zarrfs",
                           "context=\"a:b:c,d\"",
                           ",,"}) {
    EXPECT_EQ(ErrorOf(word), "") << word;
  }
}

TEST(OptionsTest, MountsHelperPassesItsOwnFlags) {
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

TEST(OptionsTest, UnknownOptionIsNamed) {
  EXPECT_EQ(ErrorOf("view=v2,foo,bar"), "unknown option 'foo' (zarrfs --help lists them)");
  EXPECT_EQ(ErrorOf("foo=1"), "unknown option 'foo=1' (zarrfs --help lists them)");
  EXPECT_EQ(Parse({"src", "mnt", "-q"}).error().message,
            "unknown option '-q' (zarrfs --help lists them)");
  EXPECT_EQ(Parse({"src", "mnt", "--quiet"}).error().message,
            "unknown option '--quiet' (zarrfs --help lists them)");
}

TEST(OptionsTest, SloppyForgivesUnknownOptionsButNotWrongValues) {
  EXPECT_TRUE(Parse({"src", "mnt", "-o", "foo", "-s"}));
  EXPECT_FALSE(Parse({"src", "mnt", "-s", "-o", "ttl=soon"}));
}

TEST(OptionsTest, WrongValueNamesTheOptionAndWhatWasExpected) {
  const std::vector<std::pair<const char*, const char*>> cases = {
      {"view=v4", "v2, v3, gdal, netcdf or all"},
      {"separator=-", "'.', '/' or auto"},
      {"fill=zero", "auto, keep or materialize"},
      {"links=", "inside, follow or folders as /data:/disk2/data"},
      {"links=outside", "inside, follow or folders as /data:/disk2/data"},
      {"links=data", "inside, follow or folders as /data:/disk2/data"},
      {"links=/data:", "inside, follow or folders as /data:/disk2/data"},
      {"cache=much", "a size such as 512k, 64M or 1G"},
      {"ttl=-1", "a number of seconds, 0 or more"},
      {"ttl=nan", "a number of seconds, 0 or more"},
      {"ttl=1s", "a number of seconds, 0 or more"},
      {"index_cache=64MB", "a size such as 512k, 64M or 1G"},
      {"threads=0", "a number from 1 to 1024"},
      {"uid=ann", "a number"},
      {"gid=-1", "a number"},
      {"gid=4294967295", "a number"},
      {"umask=1000", "an octal number from 0 to 777"},
      {"umask=8", "an octal number from 0 to 777"},
      {"log_level=loud", "error, warning, info or debug"},
      {"ttl", "a value"},
  };
  for (const auto& [word, expected] : cases) {
    EXPECT_EQ(ErrorOf(word),
              fmt::format("option '{}': expected {} (zarrfs --help lists them)", word, expected));
  }
  EXPECT_EQ(ErrorOf("immutable=yes"),
            "option 'immutable=yes': 'immutable' takes no value (zarrfs --help lists them)");
}

TEST(OptionsTest, MissingAndSuperfluousArgumentsAreNamed) {
  EXPECT_TRUE(Parse({}).error().message.starts_with("store and mount point are missing"));
  EXPECT_TRUE(Parse({"src"}).error().message.starts_with("mount point is missing"));
  EXPECT_TRUE(Parse({"a", "b", "c"}).error().message.starts_with("unexpected argument 'c'"));
  EXPECT_TRUE(Parse({"a", ""}).error().message.starts_with("empty path"));
  EXPECT_TRUE(Parse({"a", "b", "-o"}).error().message.starts_with("option '-o' needs a value"));
}

TEST(OptionsTest, HelpAndVersionNeedNoPaths) {
  for (const char* word : {"-h", "--help"}) {
    EXPECT_EQ(Parse({word})->action, CommandLine::Action::kShowHelp);
  }
  for (const char* word : {"-V", "--version"}) {
    EXPECT_EQ(Parse({word})->action, CommandLine::Action::kShowVersion);
  }
  EXPECT_NE(HelpText().find("\n  index_cache=SIZE "), std::string::npos);
  EXPECT_TRUE(VersionText().starts_with("zarrfs " ZARRFS_VERSION " (libfuse 3."));
}

TEST(OptionsTest, CommasCanBeEscapedOrQuoted) {
  using Words = std::vector<std::string>;
  EXPECT_EQ(SplitOptions("a,,b,"), (Words{"a", "b"}));
  EXPECT_EQ(SplitOptions(R"(a=x\,y,b)"), (Words{"a=x,y", "b"}));
  EXPECT_EQ(SplitOptions(R"(a=x\\,b)"), (Words{R"(a=x\)", "b"}));
  EXPECT_EQ(SplitOptions(R"(a=\x\)"), (Words{R"(a=\x\)"}));
  EXPECT_EQ(SplitOptions(R"(context="s0:c1,c2",b)"), (Words{R"(context="s0:c1,c2")", "b"}));
}

TEST(OptionsTest, LinksAreFollowedUnlessOthersHaveAccess) {
  const auto links = [](const char* options) { return ToString(LinksInForce(Options(options))); };
  EXPECT_EQ(links("noallow_other"), "follow");
  EXPECT_EQ(links("allow_other"), "inside");
  EXPECT_EQ(links("umask=0"), geteuid() == 0 ? "inside" : "follow");
  EXPECT_EQ(links("allow_other,links=follow"), "follow");
  EXPECT_EQ(links("noallow_other,links=inside"), "inside");
  EXPECT_EQ(links("links=/data/.git/annex/objects:/disk2"), "/data/.git/annex/objects:/disk2");
}

TEST(OptionsTest, SettingsOfAMountCanBeReadAgain) {
  MountOptions options = Options(R"(view=v2,comment=a\,b)");
  options.config = {{"source", "/data", 1}, {"cache", "1G", 2}, {"immutable", std::nullopt, 3}};
  EXPECT_EQ(SettingsList(options), R"(cache=1G,immutable,view=v2,comment=a\,b)");
}

TEST(OptionsTest, RemountNamesWhatWouldBeAnotherMount) {
  using Words = std::vector<std::string>;
  const auto changed = [](const char* asked, const char* in_force) {
    return ChangedWords(Options(asked), in_force, /*by_root=*/true);
  };
  EXPECT_EQ(changed("remount", ""), Words());
  // What mount(8) takes from the kernel's table, from fstab and from its command line.
  EXPECT_EQ(changed("rw,nosuid,nodev,relatime,user_id=0,group_id=0,default_permissions,allow_other,"
                    "max_read=1048576,remount,ro",
                    "view=v2,noatime"),
            Words());
  EXPECT_EQ(changed("remount,view=v2,cache=1024M,umask=022", "rw,umask=22,view=v2,cache=1G"),
            Words());
  EXPECT_EQ(changed("remount,noexec,noatime", ""), Words()) << "the kernel does these";
  EXPECT_EQ(changed("remount,view=gdal,view=v2", "view=v2"), Words()) << "the last one counts";
  EXPECT_EQ(changed("remount,view=gdal", "view=v2"), Words{"view=gdal"});
  EXPECT_EQ(changed("immutable,remount,cache=1G", "rw"), (Words{"immutable", "cache=1G"}));
  EXPECT_EQ(changed("remount,links=inside", ""), Words()) << "as it is for a mount by root";
  EXPECT_EQ(changed("remount,links=follow", ""), Words{"links=follow"});
  EXPECT_EQ(changed("remount,links=/a", "links=/a"), Words());
  EXPECT_EQ(changed("remount,noallow_other", ""), Words{"noallow_other"});
  EXPECT_EQ(ChangedWords(Options("remount,allow_other"), "", /*by_root=*/false),
            Words{"allow_other"});
  MountOptions with_file = Options("remount");
  with_file.config = {{"cache", "1G", 1}, {"log_level", "debug", 2}, {"view", "v3", 3}};
  EXPECT_EQ(ChangedWords(with_file, "cache=1M", /*by_root=*/true), Words{"view=v3"});
  EXPECT_NE(ErrorOf("max_read=4096"), "") << "not what anybody else can ask for";
}

TEST(OptionsTest, SizesArePowersOf1024) {
  EXPECT_EQ(ParseSize("0"), 0U);
  EXPECT_EQ(ParseSize("4096"), 4096U);
  EXPECT_EQ(ParseSize("512k"), 512U << 10);
  EXPECT_EQ(ParseSize("64M"), 64U << 20);
  EXPECT_EQ(ParseSize("1G"), 1U << 30);
  EXPECT_EQ(ParseSize("16777215T"), 16777215ULL << 40);
  for (const char* text : {"", "M", "-1", "1.5G", "64MB", "16777216T", "18446744073709551616"}) {
    EXPECT_EQ(ParseSize(text), std::nullopt) << text;
  }
}

TEST(OptionsTest, IoUringIsAskedForWhereItIsOffered) {
  MountOptions options = Options("io_uring");
  const bool is_offered = WhyNoIoUring(options).empty();
  EXPECT_EQ(LibfuseOptions(options).ends_with(",io_uring"), is_offered);
  EXPECT_EQ(WhyNoIoUring(Options("")), WhyNoIoUring(options));
  options = Options("noio_uring");
  EXPECT_EQ(WhyNoIoUring(options), "noio_uring");
  EXPECT_FALSE(LibfuseOptions(options).ends_with(",io_uring"));
}

TEST(OptionsTest, EveryMountIsReadOnlyWithoutDevicesAndSetUidBits) {
  MountOptions options = Options("rw,suid,dev,noexec,allow_other,noio_uring");
  options.source = R"(/data/a,b\c)";
  EXPECT_EQ(LibfuseOptions(options),
            R"(ro,nosuid,nodev,default_permissions,subtype=zarrfs,fsname=/data/a\,b\\c,)"
            "max_read=1048576,allow_other,noexec");
}

}  // namespace
}  // namespace zarrfs
