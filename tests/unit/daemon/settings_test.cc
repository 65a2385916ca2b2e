#include "fs/daemon/settings.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "tests/unit/daemon/parsed_options.h"

namespace zarrfs {
namespace {

TEST(SettingsTest, SloppyForgivesUnknownOptionsButNotWrongValues) {
  EXPECT_TRUE(Parse({"src", "mnt", "-o", "foo", "-s"}));
  EXPECT_FALSE(Parse({"src", "mnt", "-s", "-o", "ttl=soon"}));
}

TEST(SettingsTest, SettingsOfAMountCanBeReadAgain) {
  MountOptions options = Options(R"(view=v2,comment=a\,b)");
  options.config = {{"source", "/data", 1}, {"cache", "1G", 2}, {"immutable", std::nullopt, 3}};
  EXPECT_EQ(SettingsList(options), R"(cache=1G,immutable,view=v2,comment=a\,b)");
}

TEST(SettingsTest, RemountNamesWhatWouldBeAnotherMount) {
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

}  // namespace
}  // namespace zarrfs
