#include "fs/options/option_table.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "tests/unit/options/parsed_options.h"

namespace zarrfs::option_table_test {
namespace {

TEST(OptionTableTest, EachOptionArrives) {
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

TEST(OptionTableTest, ViewsAreNamesBetweenColons) {
  EXPECT_EQ(ViewNames(Options("").views), "v2:v3:gdal:netcdf");
  EXPECT_EQ(ViewNames(Options("views=netcdf:v2").views), "v2:netcdf");
  for (const char* word : {"views=", "views=v2:", "views=:v2", "views=v2:v4", "views=v2,v3"}) {
    EXPECT_NE(ErrorOf(word), "") << word;
  }
  EXPECT_EQ(ErrorOf("views=v4"),
            "option 'views=v4': expected names of views such as v2:netcdf (zarrfs --help lists "
            "them)");
}

TEST(OptionTableTest, CompressorsAreNamesBetweenColons) {
  EXPECT_EQ(Options("").compressors, kAllCompressors);
  EXPECT_EQ(CompressorNames(Options("compressors=blosc:zlib").compressors), "zlib:blosc");
  EXPECT_TRUE(Options("compressors=none").compressors.none());
  EXPECT_NE(ErrorOf("compressors=zlib:snappy"), "");
}

TEST(OptionTableTest, WordsOfMountAndFstabAreAccepted) {
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
                           "nosymfollow",
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
                           "auto_unmount",
                           "default_permissions",
                           "max_read=131072",
                           "max_read=1M",
                           "subtype=zarrfs",
                           "context=\"a:b:c,d\"",
                           ",,"}) {
    EXPECT_EQ(ErrorOf(word), "") << word;
  }
}

TEST(OptionTableTest, NamesOfUsersAndGroupsBecomeNumbersOnce) {
  const MountOptions options = Options("uid=root,gid=root,umask=022");
  EXPECT_EQ(options.uid, 0U);
  EXPECT_EQ(options.gid, 0U);
  EXPECT_EQ(options.settings, (std::vector<std::string>{"uid=0", "gid=0", "umask=022"}));
}

TEST(OptionTableTest, HelpHasTheHeadingsOfTheDocument) {
  std::vector<std::string> headings;
  std::istringstream help(OptionsHelp());
  for (std::string line; std::getline(help, line);) {
    if (!line.starts_with(' ')) headings.push_back(line);
  }
  EXPECT_EQ(headings, (std::vector<std::string>{
                          "What the mount shows:", "Changes to the store:", "Memory and threads:",
                          "Who may access the mount:", "How it is mounted:"}));
}

TEST(OptionTableTest, OptionsOfAnotherMeaningAreRefusedWithTheReason) {
  EXPECT_EQ(ErrorOf("allow_root"),
            "option 'allow_root': the kernel supports only allow_other; with uid=UID,umask=077 "
            "only you and root have access");
  EXPECT_EQ(ErrorOf("fsname=y"), "option 'fsname=y': the source of a mount is always its store");
  const char* const sloppy[] = {"mount.zarrfs", "/a", "/b", "-s", "-o", "fsname=y,allow_root"};
  EXPECT_TRUE(ParseCommandLine(6, sloppy));
}

TEST(OptionTableTest, UnknownOptionIsNamed) {
  EXPECT_EQ(ErrorOf("view=v2,foo,bar"), "unknown option 'foo' (zarrfs --help lists them)");
  EXPECT_EQ(ErrorOf("foo=1"), "unknown option 'foo=1' (zarrfs --help lists them)");
  EXPECT_EQ(ErrorOf("ro rw"), "unknown option 'ro rw' (zarrfs --help lists them)");
  EXPECT_EQ(Parse({"src", "mnt", "-q"}).error().message,
            "unknown option '-q' (zarrfs --help lists them)");
  EXPECT_EQ(Parse({"src", "mnt", "--quiet"}).error().message,
            "unknown option '--quiet' (zarrfs --help lists them)");
}

TEST(OptionTableTest, WrongValueNamesTheOptionAndWhatWasExpected) {
  const std::vector<std::pair<const char*, const char*>> cases = {
      {"view=v4", "v2, v3, gdal, netcdf, java, nc, npy or all"},
      {"separator=-", "'.', '/' or auto"},
      {"fill=zero", "auto, keep or materialize"},
      {"nc=4", "auto, 2 or 5"},
      {"links=", "inside, follow or folders such as /data:/disk2/data"},
      {"links=outside", "inside, follow or folders such as /data:/disk2/data"},
      {"links=data", "inside, follow or folders such as /data:/disk2/data"},
      {"links=/data:", "inside, follow or folders such as /data:/disk2/data"},
      {"cache=much", "a size such as 512k, 64M or 1G"},
      {"memory=63M", "a size of 64M or more"},
      {"memory=much", "a size of 64M or more"},
      {"ttl=-1", "a number of seconds, 0 or more"},
      {"ttl=nan", "a number of seconds, 0 or more"},
      {"ttl=1s", "a number of seconds, 0 or more"},
      {"index_cache=64XB", "a size such as 512k, 64M or 1G"},
      {"threads=0", "a number from 1 to 1024"},
      {"uid=nobody-has-this-name", "a number, or the name of a user of this machine"},
      {"gid=-1", "a number, or the name of a group of this machine"},
      {"gid=4294967295", "a number, or the name of a group of this machine"},
      {"max_read=131071", "128K or more; it has no effect, because reads are not made smaller"},
      {"umask=1000", "an octal number from 0 to 777"},
      {"umask=8", "an octal number from 0 to 777"},
      {"log_level=loud", "error, warning, info or debug"},
      {"ttl", "a value"},
  };
  for (const auto& [word, expected] : cases) {
    EXPECT_EQ(ErrorOf(word),
              fmt::format("option '{}': expected {} (zarrfs --help lists them)", word, expected));
  }
  EXPECT_EQ(ErrorOf("immutable=maybe"),
            "option 'immutable=maybe': expected yes, no or nothing (zarrfs --help lists them)");
  EXPECT_NE(ErrorOf("noexec=no"), "");
}

TEST(OptionTableTest, AFlagAcceptsYesAndNo) {
  EXPECT_TRUE(Options("immutable=yes").immutable);
  EXPECT_FALSE(Options("immutable,immutable=no").immutable);
  EXPECT_EQ(Options("allow_other=no").allow_other, false);
  EXPECT_EQ(Options("noallow_other=yes").allow_other, false);
  EXPECT_EQ(Options("noallow_other=no").allow_other, true);
  EXPECT_EQ(Options("noexec=yes").kernel_options, std::vector<std::string>{"noexec"});
}

TEST(OptionTableTest, NothingCanBeExecutedUnlessAskedFor) {
  const std::vector<std::string> nothing = {"noexec"};
  EXPECT_EQ(Options("").kernel_options, nothing);
  EXPECT_EQ(Options("exec").kernel_options, std::vector<std::string>());
  EXPECT_EQ(Options("exec,noexec,noexec").kernel_options, nothing);
}

TEST(OptionTableTest, AnUnknownOptionSuggestsASimilarOne) {
  EXPECT_EQ(ErrorOf("imutable"),
            "unknown option 'imutable': did you mean 'immutable'? (zarrfs --help lists them)");
  EXPECT_EQ(
      ErrorOf("index-cache=1G"),
      "unknown option 'index-cache=1G': did you mean 'index_cache'? (zarrfs --help lists them)");
  EXPECT_EQ(Parse({"--umount", "mnt"}).error().message,
            "unknown option '--umount': did you mean '--unmount'? (zarrfs --help lists them)");
}

}  // namespace
}  // namespace zarrfs::option_table_test
