#include "fs/options/settings.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "tests/unit/options/parsed_options.h"

namespace zarrfs::settings_test {
namespace {

std::vector<std::string> WordsOf(std::string_view text) {
  const auto settings = ParseConfig(text, "f");
  EXPECT_TRUE(settings) << settings.error().message;
  return settings.value_or(std::vector<std::string>());
}

std::string ConfigError(std::string_view text) {
  const auto settings = ParseConfig(text, "f");
  return settings ? "" : settings.error().message;
}

TEST(SettingsTest, SomeNamesMayOccurSeveralTimes) {
  const auto settings = ParseConfig("via=http://a:80\nvia=http://b:80", "f");
  ASSERT_TRUE(settings) << settings.error().message;
  EXPECT_EQ(settings->size(), 2U);
}

TEST(SettingsTest, LineOfAFileIsANameWithOrWithoutAValue) {
  EXPECT_EQ(WordsOf("# comment\n\n  cache =  1G\r\nimmutable\n\t# too\nsource=/a b,c=#d"),
            (std::vector<std::string>{"", "", "cache=1G", "immutable", "", "source=/a b,c=#d"}));
  EXPECT_TRUE(WordsOf("").empty());
}

TEST(SettingsTest, OtherLinesOfAFileAreNamedWithItsLine) {
  EXPECT_EQ(ConfigError("ro\n\nmuch ado\n"),
            "f:3: 'much ado': expected 'name = value' or just a name, one per line");
  EXPECT_EQ(ConfigError("= 1"), "f:1: '= 1': expected 'name = value' or just a name, one per line");
  EXPECT_EQ(ConfigError("ro,cache=1"),
            "f:1: 'ro,cache=1': expected 'name = value' or just a name, one per line");
  EXPECT_EQ(ConfigError("cache ="), "f:1: 'cache =': expected a value after '='");
  EXPECT_EQ(ConfigError("cache=1\ncache=2"),
            "f:2: 'cache=2': expected each name only once; line 1 already has it");
}

TEST(SettingsTest, ChangedNamesAreThoseThatCameWentOrHaveAnotherValue) {
  const auto before = ParseConfig("a=1\nb\nc=1\nd", "f");
  const auto after = ParseConfig("d\nc=2\nb=1\ne", "f");
  EXPECT_EQ(ChangedNames(*before, *after), (std::set<std::string>{"a", "b", "c", "e"}));
}

TEST(SettingsTest, SloppyForgivesUnknownOptionsButNotWrongValues) {
  const auto parsed = [](const char* program, const char* option) {
    const std::vector<const char*> words = {program, "src", "mnt", "-s", "-o", option};
    return ParseCommandLine(static_cast<int>(words.size()), words.data());
  };
  EXPECT_TRUE(parsed("mount.zarrfs", "foo"));
  EXPECT_FALSE(parsed("mount.zarrfs", "ttl=soon"));
  EXPECT_FALSE(parsed("zarrfs", "foo"));
  EXPECT_EQ(parsed("zarrfs", "ro")->options.threads, 1U) << "as other programs of libfuse";
}

TEST(SettingsTest, SettingsOfAMountCanBeReadAgain) {
  MountOptions options = Options(R"(view=v2,comment=a\,b)");
  options.config = {"source=/data", "cache=1G", "immutable"};
  EXPECT_EQ(SettingsList(options), R"(cache=1G,immutable,view=v2,comment=a\,b)");
}

TEST(SettingsTest, SettingsThatCanChangeReplaceThoseOfTheirNames) {
  MountOptions options = Options("cache=1M,view=v2");
  EXPECT_EQ(LiveSettings(Options("remount,view=v3,cache=1G,log_level=debug")),
            "cache=1G,log_level=debug");
  ASSERT_TRUE(SetLive(options, "cache=1G,log_level=debug"));
  EXPECT_EQ(options.cache, 1U << 30);
  EXPECT_EQ(options.log_level, "debug");
  EXPECT_EQ(SettingsList(options), "view=v2,cache=1G,log_level=debug");
  EXPECT_EQ(SetLive(options, "cache=2G,view=v3").error().message,
            "option 'view=v3' needs a new mount");
  EXPECT_FALSE(SetLive(options, "cache=lots"));
  EXPECT_EQ(options.cache, 1U << 30) << "nothing changes on failure";
}

TEST(SettingsTest, RemountNamesOptionsThatCannotChange) {
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
  EXPECT_EQ(changed("remount,cache=1G,log_level=debug", "cache=1M"), Words()) << "these can change";
  EXPECT_EQ(changed("remount,view=v2,cache=1024M,umask=022", "rw,umask=22,view=v2,cache=1G"),
            Words());
  for (const char* const words : {"remount,noexec,noatime", "remount,exec,atime", "exec=yes"}) {
    EXPECT_EQ(changed(words, ""), Words()) << "the kernel does these";
  }
  EXPECT_EQ(changed("remount,view=gdal,view=v2", "view=v2"), Words()) << "the last one counts";
  EXPECT_EQ(changed("remount,view=gdal", "view=v2"), Words{"view=gdal"});
  EXPECT_EQ(changed("immutable,remount,cache=1G", "rw"), Words{"immutable"});
  EXPECT_EQ(changed("remount,links=inside", ""), Words()) << "as it is for a mount by root";
  EXPECT_EQ(changed("remount,links=follow", ""), Words{"links=follow"});
  EXPECT_EQ(changed("remount,links=/a", "links=/a"), Words());
  EXPECT_EQ(changed("remount,noallow_other", ""), Words{"noallow_other"});
  EXPECT_EQ(ChangedWords(Options("remount,allow_other"), "", /*by_root=*/false),
            Words{"allow_other"});
  MountOptions with_file = Options("remount");
  with_file.config = {"cache=1G", "log_level=debug", "view=v3"};
  EXPECT_EQ(ChangedWords(with_file, "cache=1M", /*by_root=*/true), Words{"view=v3"});
  EXPECT_NE(ErrorOf("max_read=4096"), "") << "not what anybody else can ask for";
}

}  // namespace
}  // namespace zarrfs::settings_test
