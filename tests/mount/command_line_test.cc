// Command lines, with their exit codes and messages.

#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "tests/mount/mounted.h"
#include "tests/mount/programs.h"
#include "tests/mount/sample_store.h"

namespace zarrfs::command_line_test {
namespace {

namespace fs = std::filesystem;

struct Row {
  // Words in capitals are replaced by paths; the first is ZARRFS, HELPER (the name by which
  // mount(8) calls it) or USER (ZARRFS, run by a user).
  std::vector<std::string> words;
  int code;
  std::string said;  // in stdout if the code is 0, otherwise in the only line of stderr
};

const std::vector<Row>& Rows() {
  static const std::vector<Row> rows = {
      // Command lines that only print.
      {{"ZARRFS", "--help"}, 0, "zarrfs STORE [MNT]"},
      {{"ZARRFS", "-h"}, 0, "Exit status: 0 mounted"},
      {{"ZARRFS", "--version"}, 0, "libfuse"},
      {{"ZARRFS", "-V"}, 0, "zarrfs "},
      {{"ZARRFS", "--list"}, 0, ""},
      // Wrong usage.
      {{"ZARRFS"}, 1, "store and mount point are missing"},
      {{"ZARRFS", "/"}, 1, "mount point is missing"},
      {{"ZARRFS", "STORE", "MNT", "third"}, 1, "unexpected argument 'third'"},
      {{"ZARRFS", "", "MNT"}, 1, "empty path"},
      {{"ZARRFS", "STORE", "MNT", "-q"}, 1, "unknown option '-q'"},
      {{"ZARRFS", "STORE", "MNT", "--quiet"}, 1, "unknown option '--quiet' ("},
      {{"ZARRFS", "--umount", "MNT"}, 1, "'--umount': did you mean '--unmount'?"},
      {{"ZARRFS", "STORE", "MNT", "-o"}, 1, "option '-o' needs a value"},
      {{"ZARRFS", "STORE", "MNT", "-o", "veiw=v2"}, 1, "'veiw=v2': did you mean 'view'?"},
      {{"ZARRFS", "STORE", "MNT", "-o", "view=v9"},
       1,
       "expected v2, v3, gdal, netcdf, java, nc, npy or all"},
      {{"ZARRFS", "STORE", "MNT", "-o", "view"}, 1, "expected a value"},
      {{"ZARRFS", "STORE", "MNT", "-o", "immutable=1"}, 1, "expected yes, no or nothing"},
      {{"ZARRFS", "STORE", "MNT", "-o", "cache=lots"}, 1, "a size such as 512k, 64M or 1G"},
      {{"ZARRFS", "STORE", "MNT", "-o", "hide=a/b"}, 1, "name patterns such as *.zarr"},
      {{"ZARRFS", "STORE", "MNT", "-o", "uid=ann"}, 1, "option 'uid=ann': expected a number"},
      {{"ZARRFS", "STORE", "MNT", "-o", "gid=-1"}, 1, "option 'gid=-1': expected a number"},
      {{"ZARRFS", "STORE", "MNT", "-o", "umask=8"}, 1, "an octal number from 0 to 777"},
      {{"ZARRFS", "STORE", "MNT", "-o", "threads=0"}, 1, "a number from 1 to"},
      {{"ZARRFS", "STORE", "MNT", "-o", "ttl=soon"}, 1, "a number of seconds"},
      {{"ZARRFS", "STORE", "MNT", "-o", "log_level=loud"}, 1, "error, warning, info or debug"},
      {{"ZARRFS", "--list", "MNT"}, 1, "(usage: zarrfs --list)"},
      {{"ZARRFS", "--unmount"}, 1, "mount point is missing (usage: zarrfs --unmount MNT)"},
      {{"ZARRFS", "--unmount", "MNT", "STORE"}, 1, "(usage: zarrfs --unmount MNT)"},
      {{"ZARRFS", "--upgrade"}, 1, "mount point is missing (usage: zarrfs --upgrade MNT or"},
      {{"ZARRFS", "--upgrade", "--all", "MNT"}, 1, "(usage: zarrfs --upgrade --all)"},
      {{"ZARRFS", "--all"}, 1, "unknown option '--all'"},
      {{"ZARRFS", "--config"}, 1, "option '--config' needs a file"},
      {{"ZARRFS", "--config", "FILE", "MNT"}, 1, "/file:1: unknown option 'text'"},
      {{"ZARRFS", "--config", "MISSING", "MNT"}, 1, "create it, with the line 'source = STORE'"},
      {{"ZARRFS", "--config", "/dev", "MNT"}, 1, "/dev cannot be read: Is a directory"},
      {{"ZARRFS", "--config", "COMMENT", "MNT"}, 1, "comments must be on separate lines"},
      {{"HELPER", "STORE", "MNT", "-o", "a\\,b"}, 1, "unknown option 'a,b'"},
      {{"HELPER", "STORE", "MNT", "-o", "config="}, 1, "option 'config=': expected a file"},
      {{"HELPER", "STORE", "MNT", "-o", "config=/nowhere/a.conf"}, 1, "a.conf does not exist"},
      // Calls of mount(8) to its helper. With -f, nothing is mounted.
      {{"HELPER", "STORE", "MNT", "-f"}, 0, ""},
      {{"HELPER", "STORE", "MNT", "-sfnv", "-o", "rw"}, 0, ""},
      {{"HELPER", "STORE", "MNT", "-f", "-n", "-s", "-v", "-o", "foo,bar=1"}, 0, ""},
      {{"HELPER", "STORE", "MNT", "-f", "-o", "ro,nosuid,nodev,noexec,noatime"}, 0, ""},
      {{"HELPER", "STORE", "MNT", "-f", "-o", "_netdev,nofail,user,users,owner"}, 0, ""},
      {{"HELPER", "STORE", "MNT", "-f", "-o", "user=ann,noauto,defaults,sync"}, 0, ""},
      {{"HELPER", "STORE", "MNT", "-f", "-o", "x-systemd.automount,x-gvfs-show,x-a=b\\,c"}, 0, ""},
      {{"HELPER", "STORE", "MNT", "-f", "-o", "uid=1000,gid=100,umask=022"}, 0, ""},
      {{"HELPER", "STORE", "MNT", "-f", "-o", "allow_other,default_permissions"}, 0, ""},
      {{"HELPER", "STORE", "MNT", "-f", "-t", "zarrfs", "-o", "comment=a\\,b"}, 0, ""},
      {{"HELPER", "STORE", "MNT", "-f", "-o", "context=\"a:b:c0,c1\""}, 0, ""},
      {{"HELPER", "EMPTY", "MNT", "-f"}, 32, "not a Zarr store"},
      {{"HELPER", "STORE", "MISSING", "-f"}, 32, "create it with mkdir"},
      // The same check, for users.
      {{"ZARRFS", "--check", "STORE", "MNT"}, 0, "can be mounted at"},
      {{"ZARRFS", "--check", "STORE", "MNT", "-o", "cache=1GB,immutable=yes"}, 0, "can be mounted"},
      {{"ZARRFS", "--check", "STORE", "MNT", "-o", "cache=lots"}, 1, "a size such as"},
      {{"ZARRFS", "--check", "EMPTY", "MNT"}, 32, "not a Zarr store"},
      {{"ZARRFS", "--check", "STORE", "MISSING"}, 32, "create it with mkdir"},
      {{"ZARRFS", "--check", "STORE", "MNT", "-o", "hide=*"}, 0, "can be mounted"},
      // Failures of mount, unmount, upgrade and remount.
      {{"ZARRFS", "EMPTY", "STORE"}, 32, "is not (is the order STORE MNT?)"},
      {{"ZARRFS", "MISSING", "STORE"}, 32, "does not exist (is the order STORE MNT?)"},
      {{"ZARRFS", "EMPTY", "s3://bucket/a.zarr"}, 32, "does not exist (is the order STORE MNT?)"},
      {{"ZARRFS", "EMPTY", "MNT"}, 32, "not a Zarr store: no zarr.json"},
      {{"ZARRFS", "MISSING", "MNT"}, 32, "missing does not exist"},
      {{"ZARRFS", "FILE", "MNT"}, 32, "is neither a folder nor a zip file"},
      {{"ZARRFS", "hf://datasets/a.zarr", "MNT"},
       32,
       "expected a folder, s3://BUCKET/PREFIX, gs://BUCKET/PREFIX, az://ACCOUNT/CONTAINER/PREFIX, "
       "or "
       "https://HOST/PATH"},
      {{"ZARRFS", "az://oceans", "MNT"}, 32, "expected az://ACCOUNT/CONTAINER/PREFIX"},
      {{"ZARRFS", "STORE", "MISSING"}, 32, "missing does not exist: create it with mkdir"},
      {{"ZARRFS", "STORE", "FILE"}, 32, "is not a directory"},
      {{"ZARRFS", "STORE", "STORE"}, 32, "is not empty: choose another"},
      {{"ZARRFS", "--unmount", "MNT"}, 32, "is not mounted (zarrfs --list shows the mounts)"},
      {{"ZARRFS", "--unmount", "MISSING/below"}, 32, "does not exist"},
      {{"ZARRFS", "--upgrade", "MNT"}, 32, "is not mounted (zarrfs --list shows the mounts)"},
      {{"ZARRFS", "--unmount", "/proc"}, 32, "is a mount of proc, not of zarrfs"},
      {{"HELPER", "STORE", "MNT", "-o", "rw,remount"}, 32, "mnt is not mounted"},
      {{"HELPER", "STORE", "MISSING", "-o", "remount"}, 32, "missing is not mounted"},
      {{"HELPER", "STORE", "/proc", "-o", "remount,ro"}, 32, "is a mount of proc, not of zarrfs"},
      // Mounts by users.
      {{"USER", "STORE", "MINE", "-o", "allow_other"},
       32,
       "add user_allow_other to /etc/fuse.conf"},
      {{"USER", "STORE", "MNT"}, 32, "user has no write access to mountpoint"},
  };
  return rows;
}

class CommandLineTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(geteuid(), 0U) << "only root can become another user for this test";
    (void)WriteSampleStore(folder_ / "sample.zarr");
    Replace(folder_ / "file", "text");
    Replace(folder_ / "comment", "cache = 1G  # for the viewers\n");
    // Users may have no access to the folder of the program.
    fs::copy_file(ProgramUnderTest("zarrfs"), folder_ / "zarrfs");
    fs::create_symlink(folder_ / "zarrfs", folder_ / "mount.zarrfs");
    // Hides the machine's configuration of FUSE behind one without user_allow_other, in the mount
    // namespace of the tests.
    Replace(folder_ / "fuse.conf", "#user_allow_other\n");
    ASSERT_EQ(mount((folder_ / "fuse.conf").c_str(), "/etc/fuse.conf", nullptr, MS_BIND, nullptr),
              0)
        << std::strerror(errno);
    ASSERT_EQ(chown(folder_.Folder("mine").c_str(), kNobody, kNobody), 0);
  }
  std::vector<std::string> WordsOf(const Row& row) const {
    const std::map<std::string, std::string> paths = {
        {"ZARRFS", folder_ / "zarrfs"},     {"HELPER", folder_ / "mount.zarrfs"},
        {"STORE", folder_ / "sample.zarr"}, {"MNT", folder_.Folder("mnt")},
        {"MINE", folder_ / "mine"},         {"EMPTY", folder_.Folder("empty")},
        {"FILE", folder_ / "file"},         {"COMMENT", folder_ / "comment"},
        {"MISSING", folder_ / "missing"},   {"MISSING/below", folder_ / "missing/below"},
    };
    std::vector<std::string> words;
    for (const std::string& word : row.words) {
      if (word == "USER") {
        words = {"setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", folder_ / "zarrfs"};
      } else {
        words.push_back(paths.contains(word) ? paths.at(word) : word);
      }
    }
    return words;
  }

  static constexpr uid_t kNobody = 65534;
  TemporaryFolder folder_;
  const Unmounted mnt_too_{folder_ / "mnt"};
  const Unmounted mine_too_{folder_ / "mine"};
  const FuseDeviceForUsers device_;
  const Unmounted configuration_too_{"/etc/fuse.conf"};
};

TEST_F(CommandLineTest, EachHasItsExitCodeAndItsWords) {
  for (const Row& row : Rows()) {
    std::string line;
    for (const std::string& word : row.words) line += word + " ";
    SCOPED_TRACE(line);
    const Outcome outcome = RunProgram(WordsOf(row));
    EXPECT_EQ(outcome.code, row.code) << outcome.errors;
    const std::string& said = row.code == 0 ? outcome.output : outcome.errors;
    const std::string& other = row.code == 0 ? outcome.errors : outcome.output;
    EXPECT_EQ(other, "");
    if (row.said.empty()) {
      EXPECT_EQ(said, "");
    } else {
      EXPECT_NE(said.find(row.said), std::string::npos) << said;
    }
    if (row.code != 0) {
      EXPECT_EQ(said.find('\n'), said.size() - 1) << "one line: " << said;
      EXPECT_TRUE(said.starts_with("zarrfs: ")) << said;
    }
    EXPECT_FALSE(IsMounted(folder_ / "mnt"));
    EXPECT_FALSE(IsMounted(folder_ / "mine"));
  }
}

}  // namespace
}  // namespace zarrfs::command_line_test
