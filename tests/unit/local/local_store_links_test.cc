// Symbolic links in a local store: which are followed, and how the others are reported.
#include <sys/fsuid.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>

#include <atomic>
#include <thread>

#include "tests/unit/local/local_store_testing.h"

namespace zarrfs::local_store_links_test {
namespace {

struct LinkTest : LocalStoreTest {
  void SetUp() override {
    LocalStoreTest::SetUp();
    chmod(outer.c_str(), 0755);
    ext = outer / "ext";
    fs::create_directories(ext / "array/c");
    WriteOutside("array/zarr.json", "document");
    WriteOutside("array/c/0", "shard");
  }

  void WriteOutside(const fs::path& name, std::string_view bytes) const {
    fs::create_directories((ext / name).parent_path());
    std::ofstream(ext / name, std::ios::trunc) << bytes;
  }
  void Link(const fs::path& target, const fs::path& key) const {
    fs::create_directories((root / key).parent_path());
    fs::create_symlink(target, root / key);
  }
  // Expects that every call for `key` fails with kLinkRefused and this message.
  static void ExpectRefused(const Store& store, std::string_view key, std::string_view message) {
    const auto stat = store.Stat(key);
    ASSERT_FALSE(stat) << key;
    EXPECT_EQ(stat.error().code, ErrorCode::kLinkRefused) << key;
    EXPECT_EQ(stat.error().message, message);
    EXPECT_EQ(ReadAll(store, key), "symbolic link not followed") << key;
    EXPECT_EQ(store.List(key).error().code, ErrorCode::kLinkRefused) << key;
  }
  [[nodiscard]] std::string Outside(const fs::path& name) const { return (ext / name).string(); }

  fs::path ext;  // a folder outside the store
};

// --- inside
// ---------------------------------------------------------------------------------------

TEST_F(LinkTest, ThatEndsInsideTheStoreIsFollowed) {
  Write("a/b/k", "linked");
  Link("a/b", "to_folder");
  Link("../../a/b/k", "a/b/to_file");
  Link("../to_folder/k", "a/through_another");
  Link(root / "a/b/k", "absolute");
  for (const std::string_view links : {"inside", "follow", "/usr"}) {
    const auto store = Open(links);
    EXPECT_EQ(ReadAll(*store, "to_folder/k"), "linked") << links;
    EXPECT_EQ(ReadAll(*store, "a/b/to_file"), "linked") << links;
    EXPECT_EQ(ReadAll(*store, "a/through_another"), "linked") << links;
    EXPECT_EQ(ReadAll(*store, "absolute"), "linked") << links;
    EXPECT_TRUE(store->Stat("to_folder").value().is_folder) << links;
    EXPECT_TRUE(store->Stat("to_folder/k").value().may_change_elsewhere) << links;
  }
}

TEST_F(LinkTest, ThatLeavesTheStoreIsRefusedWithTheOptionToFollowIt) {
  Link(ext / "array/c/0", "a/c/0");
  Link("../ext/array", "b");
  Link("..", "up");
  const auto store = Open();
  ExpectRefused(*store, "a/c/0",
                "a/c/0: a symbolic link to " + Outside("array/c/0") +
                    ", which leaves the store; to follow it, mount with links=" +
                    Outside("array/c") + " or links=follow");
  const std::string to_array =
      "b: a symbolic link to " + Outside("array") +
      ", which leaves the store; to follow it, mount with links=" + ext.string() +
      " or links=follow";
  ExpectRefused(*store, "b", to_array);
  ExpectRefused(*store, "b/zarr.json", to_array);
  EXPECT_EQ(store->Stat("up/ext/array/c/0").error().code, ErrorCode::kLinkRefused);
}

TEST_F(LinkTest, OptionToFollowNamesTheFolderOfAllObjects) {
  Link("/data/.git/annex/objects/X1/9z/MD5E-s4--ab/MD5E-s4--ab", "annex");
  Link("/data/.dvc/cache/files/md5/ab/cdef", "dvc");
  Link("/mnt/cache/files/md5/ab/cdef", "shared_dvc");
  Link("/mnt/my disk/x", "blank");
  Link("/x", "top");
  const auto store = Open();
  const auto option = [&](std::string_view key) {
    const std::string message = store->Stat(key).error().message;
    return message.substr(message.find("with ") + 5);
  };
  EXPECT_EQ(option("annex"), "links=/data/.git/annex/objects or links=follow");
  EXPECT_EQ(option("dvc"), "links=/data/.dvc/cache or links=follow");
  EXPECT_EQ(option("shared_dvc"), "links=/mnt/cache/files/md5 or links=follow");
  EXPECT_EQ(option("blank"), "links=follow");
  EXPECT_EQ(option("top"), "links=follow");
}

TEST_F(LinkTest, ByThePathOfTheStoreEndsInsideTheStoreThatIsThere) {
  Write("k", "first");
  Link(root / "k", "first");
  fs::create_symlink("store", outer / "current");
  const auto store = OpenLocalStore((outer / "current").string()).value();
  EXPECT_EQ(ReadAll(*store, "first"), "first");
  fs::create_directory(outer / "next");
  std::ofstream(outer / "next/k") << "next";
  fs::create_symlink(root / "k", outer / "next/first");
  fs::create_symlink(outer / "current/k", outer / "next/current");
  fs::remove(outer / "current");
  fs::create_symlink("next", outer / "current");
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(ReadAll(*store, "k"), "next");
  EXPECT_EQ(ReadAll(*store, "current"), "next");
  EXPECT_EQ(ReadAll(*store, "first"), "symbolic link not followed") << "it is in another store";
}

// --- follow
// ---------------------------------------------------------------------------------------

TEST_F(LinkTest, OutOfTheStoreIsFollowedWhereThePolicySaysSo) {
  Link(ext / "array/c/0", "absolute");
  Link("../../../ext/array/c/0", "a/c/relative");
  Link("../ext/array", "folder");
  Link("a/c/relative", "chain");
  fs::create_symlink("array", ext / "alias");
  Link(ext / "alias/c/0", "through_another");
  for (const std::string& links : {std::string("follow"), ext.string(), "/usr:" + ext.string()}) {
    const auto store = Open(links);
    for (const std::string_view key : {"absolute", "a/c/relative", "chain", "through_another"}) {
      EXPECT_EQ(ReadAll(*store, key), "shard") << key << " with " << links;
      EXPECT_TRUE(store->Stat(key).value().may_change_elsewhere) << key;
    }
    EXPECT_EQ(ReadAll(*store, "folder/zarr.json"), "document");
    EXPECT_EQ(SortedList(*store, "folder"),
              (std::vector<ListEntry>{{"c", true}, {"zarr.json", false}}));
    EXPECT_EQ(SortedList(*store, "a/c"), (std::vector<ListEntry>{{"relative", false}}));
    EXPECT_EQ(store->Stat("folder/c/1").error().code, ErrorCode::kNotFound) << "truly absent";
    EXPECT_EQ(store->List("absolute").error().code, ErrorCode::kNotFound) << "no folder";
    EXPECT_EQ(store->Stat("absolute/below").error().code, ErrorCode::kNotFound);
    EXPECT_EQ(ReadOn(*OpenObject(*store, "absolute"), 2, 3), "ard");
  }
}

TEST_F(LinkTest, EndsBelowOneOfTheFoldersOrIsRefused) {
  WriteOutside("other/k", "other");
  fs::create_symlink("../other/k", ext / "array/escape");
  Link(ext / "array/c/0", "below");
  Link(ext / "array/../other/k", "beside");
  Link(ext / "array/escape", "by_another");
  Link(outer / "nowhere", "nothing_outside");
  const std::string folder = Outside("array");
  const auto store = Open(folder);
  EXPECT_EQ(ReadAll(*store, "below"), "shard");
  const std::string why = ", which leads neither into the store nor below " + folder +
                          "; to follow it, mount with links=" + folder + ":";
  ExpectRefused(*store, "beside",
                "beside: a symbolic link to " + Outside("other/k") + why + Outside("other") +
                    " or links=follow");
  ExpectRefused(*store, "by_another",
                "by_another: a symbolic link to " + Outside("array/escape") + why + folder +
                    " or links=follow");
  ExpectRefused(*store, "nothing_outside",  // must not reveal that the target does not exist
                "nothing_outside: a symbolic link to " + (outer / "nowhere").string() + why +
                    outer.string() + " or links=follow");
  EXPECT_EQ(SortedList(*store, ""), (std::vector<ListEntry>{{"below", false},
                                                            {"beside", false, true},
                                                            {"by_another", false, true},
                                                            {"nothing_outside", false, true}}));
}

TEST_F(LinkTest, FolderOfThePolicyMayBeALinkItself) {
  fs::create_symlink("ext", outer / "alias");
  Link(outer / "alias/array/c/0", "by_alias");
  Link(ext / "array/c/0", "by_name");
  const auto store = Open((outer / "alias").string());
  EXPECT_EQ(ReadAll(*store, "by_alias"), "shard");
  EXPECT_EQ(ReadAll(*store, "by_name"), "shard");
  const auto missing =
      OpenLocalStore(root.string(), {.links = ParseLinkPolicy(Outside("missing")).value()});
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().message, "links=" + Outside("missing") + ": No such file or directory");
}

TEST_F(LinkTest, FolderAboveTheStoreIsNoReasonToRefuseWhatIsBelowIt) {
  Link("../ext/array/c/0", "k");
  EXPECT_EQ(ReadAll(*Open(outer.string()), "k"), "shard");
  EXPECT_EQ(ReadAll(*Open("/"), "k"), "shard");
}

// --- Links that are never followed
// -----------------------------------------------------------------------

TEST_F(LinkTest, ThatDanglesIsThereAndRefused) {
  Link("nowhere", "dangling");
  Link(ext / "array/c/9", "a/dropped");
  Link(ext / "array/c/0/below", "below_a_file");
  Link(std::string(300, 'x'), "too_long");
  Write("k", "x");
  Link("k/", "slash");
  const auto store = Open("follow");
  const std::string nothing = ", which does not exist";
  ExpectRefused(*store, "dangling",
                "dangling: a symbolic link to " + (root / "nowhere").string() + nothing);
  ExpectRefused(*store, "dangling/zarr.json",
                "dangling: a symbolic link to " + (root / "nowhere").string() + nothing);
  ExpectRefused(*store, "a/dropped",
                "a/dropped: a symbolic link to " + Outside("array/c/9") + nothing);
  ExpectRefused(*store, "below_a_file",
                "below_a_file: a symbolic link to " + Outside("array/c/0/below") + nothing);
  EXPECT_EQ(store->Stat("too_long").error().code, ErrorCode::kLinkRefused);
  EXPECT_EQ(store->Stat("slash").error().code, ErrorCode::kLinkRefused);
  EXPECT_EQ(SortedList(*store, "a"), (std::vector<ListEntry>{{"dropped", false, true}}));
  EXPECT_EQ(Open()->Stat("dangling").error().code, ErrorCode::kLinkRefused);
}

TEST_F(LinkTest, ThatLoopsIsRefused) {
  Link("loop", "loop");
  Link("b", "a");
  Link("a", "b");
  const auto store = Open("follow");
  ExpectRefused(*store, "loop",
                "loop: a symbolic link to " + (root / "loop").string() +
                    ", which is part of a loop of symbolic links");
  ExpectRefused(*store, "a/zarr.json",
                "a: a symbolic link to " + (root / "b").string() +
                    ", which is part of a loop of symbolic links");
  EXPECT_EQ(
      SortedList(*store, ""),
      (std::vector<ListEntry>{{"a", false, true}, {"b", false, true}, {"loop", false, true}}));
}

TEST_F(LinkTest, ToAFolderAboveItselfIsRefused) {
  Write("g/a/k", "x");
  Link(".", "g/self");
  Link("..", "g/parent");
  Link("../..", "g/a/grandparent");
  Link(outer, "g/above_the_store");
  Link("/", "g/top");
  Link("../ext", "e");
  fs::create_symlink(root, ext / "back");
  fs::create_symlink(".", ext / "self");
  Link("../ext/array", "b");
  fs::create_symlink("..", ext / "array/outwards");
  const auto store = Open("follow");
  for (const std::string_view key : {"g/self", "g/parent", "g/a/grandparent", "g/above_the_store",
                                     "g/top", "e/back", "e/self", "b/outwards"}) {
    const auto stat = store->Stat(key);
    ASSERT_FALSE(stat) << key;
    EXPECT_EQ(stat.error().code, ErrorCode::kLinkRefused) << key;
    EXPECT_TRUE(stat.error().message.ends_with(", a folder above itself, which would be a loop"))
        << stat.error().message;
  }
  EXPECT_EQ(Open()->Stat("g/parent").error().code, ErrorCode::kLinkRefused);
  Link("../g/a", "h/sibling");
  EXPECT_EQ(ReadAll(*store, "h/sibling/k"), "x");
}

TEST_F(LinkTest, FolderLinksOfOnePathAreCounted) {
  for (int i = 0; i <= kMaxFolderLinks; ++i) {
    WriteOutside(fmt::format("f{}/k", i), "x");
    fs::create_symlink(fmt::format("../f{}", i + 1), ext / fmt::format("f{}/next", i));
  }
  Link(ext / "f0", "f");
  std::string key = "f";
  for (int i = 1; i < kMaxFolderLinks; ++i) key += "/next";
  const auto store = Open("follow");
  EXPECT_EQ(ReadAll(*store, key + "/k"), "x");
  const auto stat = store->Stat(key + "/next/k");
  ASSERT_FALSE(stat);
  EXPECT_EQ(stat.error().code, ErrorCode::kLinkRefused);
  EXPECT_TRUE(stat.error().message.ends_with(
      "one of more than 8 links to folders on this path, which is the limit"))
      << stat.error().message;
}

TEST_F(LinkTest, IntoFileSystemsOfTheKernelIsRefused) {
  Link("/proc/self/environ", "process");
  Link("/proc/self/root", "magic");
  Link("/proc/self/cwd", "also_magic");
  Link("/sys/kernel", "system");
  for (const std::string_view links : {"follow", "/", "/proc:/sys"}) {
    const auto store = Open(links);
    for (const std::string_view key : {"process", "magic/etc/passwd", "also_magic", "system"}) {
      const auto stat = store->Stat(key);
      ASSERT_FALSE(stat) << key << " with " << links;
      EXPECT_EQ(stat.error().code, ErrorCode::kLinkRefused) << key << " with " << links;
      EXPECT_TRUE(stat.error().message.ends_with(
          "leads into a file system of the kernel (/proc, /sys); that is never followed"))
          << stat.error().message;
    }
  }
}

TEST_F(LinkTest, ThatCannotBeReadIsDeniedAndListed) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can be somebody else for a moment";
  Link(ext / "array/c/0", "a/c/0");
  chmod(root.c_str(), 0755);
  chmod((ext / "array").c_str(), 0700);
  const auto store = Open("follow");
  setfsuid(65534);
  const auto stat = store->Stat("a/c/0");
  const auto listed = store->List("a/c");
  setfsuid(0);
  ASSERT_FALSE(stat);
  EXPECT_EQ(stat.error().code, ErrorCode::kPermissionDenied);
  EXPECT_EQ(stat.error().message, "a/c/0: a symbolic link to " + Outside("array/c/0") +
                                      ", which cannot be read: Permission denied");
  EXPECT_EQ(listed.value(), (std::vector<ListEntry>{{"0", false, true}}));
}

// --- Special files
// --------------------------------------------------------------------------------

TEST_F(LinkTest, SpecialFilesCannotBeReadAndAreNeverOpened) {
  const std::string fifo = (root / "fifo").string();
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  Link("fifo", "to_fifo");
  Link("/dev/null", "device");
  const int socket_fd = socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  fs::path("socket").string().copy(address.sun_path, sizeof address.sun_path - 1);
  const fs::path before = fs::current_path();
  fs::current_path(root);  // the length of a socket's path is limited
  ASSERT_EQ(bind(socket_fd, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  fs::current_path(before);

  // This thread blocks until the FIFO is opened for reading, however briefly.
  std::atomic<bool> let_in = false;
  std::thread writer([&] {
    const int fd = open(fifo.c_str(), O_WRONLY | O_CLOEXEC);
    let_in = true;
    close(fd);
  });
  const auto store = Open("follow");
  for (int round = 0; round < 100; ++round) {
    for (const std::string_view key : {"fifo", "to_fifo", "device", "socket"}) {
      EXPECT_EQ(ReadAll(*store, key), "not supported") << key;
      EXPECT_EQ(store->Stat(key).error().code, ErrorCode::kUnsupported) << key;
      EXPECT_FALSE(store->List(key)) << key;
    }
    const std::vector<ListEntry> entries = store->List("").value();
    for (const ListEntry& entry : entries) EXPECT_TRUE(entry.is_refused);
    EXPECT_EQ(entries.size(), 4U);
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_FALSE(let_in);
  const int reader = open(fifo.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  writer.join();
  close(reader);
  close(socket_fd);
}

TEST_F(LinkTest, FifoThatTakesThePlaceOfAFileMeanwhileIsNeverOpened) {
  // A deep folder makes lookups slow, so the names are exchanged during a read.
  std::string folder = "d";
  for (int i = 0; i < 500; ++i) folder += "/d";
  Write(folder + "/k", "file");
  const std::string fifo = (root / folder / "fifo").string();
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  // The FIFO is opened through this descriptor, because its name moves.
  const int place = open(fifo.c_str(), O_PATH | O_CLOEXEC);
  const std::string path = fmt::format("/proc/self/fd/{}", place);
  std::atomic<bool> let_in = false;
  std::thread writer([&] {
    const int fd = open(path.c_str(), O_WRONLY | O_CLOEXEC);
    let_in = true;
    close(fd);
  });
  std::atomic<bool> done = false;
  const int within = open((root / folder).c_str(), O_PATH | O_CLOEXEC);
  std::thread exchanging([&] {
    while (!done) syscall(SYS_renameat2, within, "k", within, "fifo", /*RENAME_EXCHANGE*/ 2);
  });
  const auto store = Open();
  size_t read = 0;
  for (int i = 0; i < 5'000 && !let_in; ++i) {
    const std::string answer = ReadAll(*store, folder + "/k");
    if (answer == "file") ++read;
    EXPECT_TRUE(answer == "file" || answer == "not supported" || answer == "changed meanwhile")
        << answer;
  }
  EXPECT_FALSE(let_in);
  EXPECT_GT(read, 0U);
  done = true;
  exchanging.join();
  const int reader = open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  writer.join();
  for (const int fd : {reader, within, place}) close(fd);
}

// --- Permissions
// ----------------------------------------------------------------------------------

TEST_F(LinkTest, FileIsAsClosedAsTheFoldersOnTheWay) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give files away";
  Link(ext / "array/c/0", "k");
  const fs::path file = ext / "array/c/0";
  const fs::path folder = ext / "array";
  chmod(file.c_str(), 0644);
  const auto mode = [&, this](mode_t folder_mode, uid_t folder_user, gid_t folder_group,
                              uid_t file_user, gid_t file_group, bool others_read = true) {
    EXPECT_EQ(chown(folder.c_str(), folder_user, folder_group), 0);
    EXPECT_EQ(chown(file.c_str(), file_user, file_group), 0);
    chmod(folder.c_str(), folder_mode);
    const auto store = OpenLocalStore(root.string(), {.links = ParseLinkPolicy("follow").value(),
                                                      .others_read = others_read})
                           .value();
    EXPECT_EQ(OpenObject(*store, "k")->info().mode, store->Stat("k").value().mode);
    return store->Stat("k").value().mode;
  };
  EXPECT_EQ(mode(0755, 0, 0, 7, 8), 0644U);
  EXPECT_EQ(mode(0750, 0, 0, 0, 0), 0640U);
  EXPECT_EQ(mode(0700, 0, 0, 0, 0), 0600U);
  EXPECT_EQ(mode(0750, 0, 8, 0, 8), 0640U) << "the group of the file is that of the folder";
  EXPECT_EQ(mode(0750, 0, 9, 0, 8), 0600U) << "it is another";
  EXPECT_EQ(mode(0700, 7, 0, 7, 0), 0600U) << "the owner may pass";
  EXPECT_EQ(mode(0700, 0, 0, 7, 0), 0000U) << "not even the owner may";
  EXPECT_EQ(mode(0705, 0, 9, 0, 8), 0600U) << "others may belong to the group, which may not";
  EXPECT_EQ(mode(0700, 0, 0, 7, 8, /*others_read=*/false), 0644U);
}

// --- Races
// ----------------------------------------------------------------------------------------

// Reads `key` repeatedly while two names are exchanged. Each read must return `bytes` or fail.
void ExpectBytesOrRefusal(const Store& store, std::string_view key, std::string_view bytes,
                          const fs::path& one, const fs::path& other) {
  std::atomic<bool> done = false;
  std::thread exchanging([&] {
    while (!done) {
      syscall(SYS_renameat2, AT_FDCWD, one.c_str(), AT_FDCWD, other.c_str(), /*RENAME_EXCHANGE*/ 2);
    }
  });
  size_t read = 0;
  for (int i = 0; i < 5000; ++i) {
    const std::string answer = ReadAll(store, key);
    if (answer == bytes) ++read;
    EXPECT_TRUE(answer == bytes || answer == "symbolic link not followed" ||
                answer == "changed meanwhile")
        << answer;
  }
  done = true;
  exchanging.join();
  EXPECT_GT(read, 0U);
}

TEST_F(LinkTest, FolderThatBecomesALinkMeanwhileLeadsNowhereElse) {
  WriteOutside("secret/0", "secret");
  Write("a/0", "inside");
  Link("../ext/secret", "b");
  ExpectBytesOrRefusal(*Open(), "a/0", "inside", root / "a", root / "b");
}

TEST_F(LinkTest, FolderOutsideThatBecomesALinkMeanwhileLeadsNowhereElse) {
  WriteOutside("secret/0", "secret");
  fs::create_symlink("../secret", ext / "array/d");
  Link("../ext/array/c/0", "k");
  const auto store = Open(Outside("array"));
  ExpectBytesOrRefusal(*store, "k", "shard", ext / "array/c", ext / "array/d");
}

// --- The policy
// -----------------------------------------------------------------------------------

TEST(LinkPolicyTest, TextRoundTrips) {
  for (const std::string_view text : {"inside", "follow", "/a", "/a:/b/c", "/"}) {
    const auto policy = ParseLinkPolicy(text);
    ASSERT_TRUE(policy) << text;
    EXPECT_EQ(ToString(*policy), text);
  }
  for (const std::string_view text : {"", "no", "a", "./a", "/a:", ":/a", "/a:b", "/a:follow"}) {
    EXPECT_FALSE(ParseLinkPolicy(text)) << text;
  }
}

}  // namespace
}  // namespace zarrfs::local_store_links_test
