#include "zarrcore/store/local_store.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/fsuid.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <future>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace zarrfs {
namespace {

namespace fs = std::filesystem;

struct LocalStoreTest : testing::Test {
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "local_store_test.XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    outer = name;
    root = outer / "store";
    fs::create_directory(root);
  }
  void TearDown() override { fs::remove_all(outer); }

  void Write(const fs::path& key, std::string_view bytes) const {
    fs::create_directories((root / key).parent_path());
    std::ofstream(root / key, std::ios::trunc) << bytes;
  }

  // Writes a file beside the old one and renames it over it.
  void Replace(const fs::path& key, std::string_view bytes) const {
    Write("replacement", bytes);
    fs::rename(root / "replacement", root / key);
  }

  [[nodiscard]] std::shared_ptr<Store> Open(size_t max_open_files = 0) const {
    return OpenLocalStore(root.string(), {max_open_files}).value();
  }

  fs::path outer, root;
};

// What is read, or the name of the error.
std::string ReadRange(const Store& store, std::string_view key, ByteRange range,
                      size_t buffer = 100) {
  std::string bytes(buffer, '?');
  const auto answer = store.Read(key, range, std::as_writable_bytes(std::span(bytes)));
  if (!answer) return std::string(ToString(answer.error().code));
  bytes.resize(answer->length);
  return bytes;
}

std::string ReadAll(const Store& store, std::string_view key) {
  return ReadRange(store, key, ByteRange::At(0, 100));
}

std::string ReadOn(const Object& object, uint64_t offset, size_t length) {
  std::string bytes(length, '?');
  const auto read = object.Read(offset, std::as_writable_bytes(std::span(bytes)));
  return read ? bytes : std::string(ToString(read.error().code));
}

std::shared_ptr<const Object> OpenObject(const Store& store, std::string_view key) {
  return store.Read(key, ByteRange::At(0, 0), {}).value().object;
}

std::vector<ListEntry> SortedList(const Store& store, std::string_view folder) {
  std::vector<ListEntry> entries = store.List(folder).value();
  std::sort(entries.begin(), entries.end(),
            [](const ListEntry& a, const ListEntry& b) { return a.name < b.name; });
  return entries;
}

// --- Opening
// --------------------------------------------------------------------------------------

TEST_F(LocalStoreTest, OpeningSaysWhyItCannot) {
  Write("file", "x");
  EXPECT_EQ(OpenLocalStore((root / "missing").string()).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(OpenLocalStore((root / "file").string()).error().code, ErrorCode::kNotADirectory);
  EXPECT_EQ(Open()->name(), root.string());
}

TEST_F(LocalStoreTest, GranularityFollowsFromSpeed) {
  const auto store = Open();
  EXPECT_EQ(store->TimestampGranularityNs(), store->AnswersFast() ? 20'000'000 : 2'000'000'000);
}

TEST_F(LocalStoreTest, CapacityIsThatOfTheFileSystem) {
  const StoreCapacity capacity = Open()->Capacity().value();
  EXPECT_GT(capacity.blocks * capacity.block_size, 0U);
  EXPECT_GE(capacity.blocks_free, capacity.blocks_available);
}

TEST_F(LocalStoreTest, AnotherFolderInItsPlaceIsTheStore) {
  Write("k", "old");
  const auto store = Open();
  const auto stays = OpenLocalStore(root.string(), {.max_open_files = 0, .follow_path = false});
  fs::rename(root, outer / "moved");
  EXPECT_EQ(ReadAll(*store, "k"), "old") << "nothing is in its place";
  fs::create_directory(root);
  Write("k", "new");
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(ReadAll(*store, "k"), "new");
  EXPECT_EQ(ReadAll(**stays, "k"), "old") << "where it was asked to stay";
}

// --- Reading
// --------------------------------------------------------------------------------------

TEST_F(LocalStoreTest, ReadsRangesFromTheFrontAndFromTheEnd) {
  Write("a/c/0", "0123456789");
  const auto store = Open();
  EXPECT_EQ(ReadRange(*store, "a/c/0", ByteRange::At(2, 3)), "234");
  EXPECT_EQ(ReadRange(*store, "a/c/0", ByteRange::Suffix(3)), "789");

  std::array<std::byte, 3> out;
  const ReadAnswer answer = store->Read("a/c/0", ByteRange::Suffix(3), out).value();
  EXPECT_EQ(answer.offset, 7U);
  EXPECT_EQ(answer.length, 3U);
  EXPECT_EQ(answer.object->info().size(), 10U);
}

TEST_F(LocalStoreTest, RangeIsCutToTheObjectAndToTheBuffer) {
  Write("k", "0123456789");
  const auto store = Open();
  EXPECT_EQ(ReadRange(*store, "k", ByteRange::At(8, 5)), "89");
  EXPECT_EQ(ReadRange(*store, "k", ByteRange::At(10, 5)), "");
  EXPECT_EQ(ReadRange(*store, "k", ByteRange::At(UINT64_MAX, UINT64_MAX)), "");
  EXPECT_EQ(ReadRange(*store, "k", ByteRange::Suffix(UINT64_MAX)), "0123456789");
  EXPECT_EQ(ReadRange(*store, "k", ByteRange::At(2, 5), 3), "234");
  EXPECT_EQ(ReadRange(*store, "k", ByteRange::Suffix(5), 3), "567");
  Write("empty", "");
  EXPECT_EQ(ReadRange(*store, "empty", ByteRange::Suffix(4)), "");
}

TEST_F(LocalStoreTest, ObjectIsReadOnFromAnyOffset) {
  Write("k", "0123456789");
  const auto object = OpenObject(*Open(), "k");  // outlives its store
  EXPECT_EQ(ReadOn(*object, 0, 10), "0123456789");
  EXPECT_EQ(ReadOn(*object, 9, 1), "9");
  EXPECT_EQ(ReadOn(*object, 10, 0), "");
}

TEST_F(LocalStoreTest, ReadBeyondTheEndOfAnObjectIsDamage) {
  Write("k", "0123456789");
  const auto object = OpenObject(*Open(), "k");
  EXPECT_EQ(ReadOn(*object, 8, 3), "damaged");
  EXPECT_EQ(ReadOn(*object, 11, 0), "damaged");
  EXPECT_EQ(ReadOn(*object, UINT64_MAX, 2), "damaged");
}

TEST_F(LocalStoreTest, StatTellsWhatReadTells) {
  Write("a/k", "01234");
  chmod((root / "a/k").c_str(), 0640);
  const auto store = Open();
  const ObjectInfo info = store->Stat("a/k").value();
  EXPECT_EQ(info.size(), 5U);
  EXPECT_EQ(info.mode, 0640U);
  EXPECT_EQ(info.uid, getuid());
  EXPECT_FALSE(info.is_folder);
  EXPECT_EQ(info.version, OpenObject(*store, "a/k")->info().version);
  EXPECT_TRUE(store->Stat("a").value().is_folder);
  EXPECT_TRUE(store->Stat("").value().is_folder);
}

// --- What is no object
// ----------------------------------------------------------------------------

TEST_F(LocalStoreTest, FolderIsNoObject) {
  Write("a/k", "x");
  EXPECT_EQ(ReadAll(*Open(), "a"), "not found");
  EXPECT_EQ(ReadAll(*Open(), ""), "not found");
}

TEST_F(LocalStoreTest, NothingLiesBelowAnObject) {
  Write("k", "x");
  const auto store = Open();
  EXPECT_EQ(ReadAll(*store, "k/below"), "not found");
  EXPECT_EQ(store->Stat("k/below").error().code, ErrorCode::kNotFound);
  EXPECT_EQ(store->List("k").error().code, ErrorCode::kNotFound);
}

TEST_F(LocalStoreTest, FifoIsNoObjectAndHangsNobody) {
  ASSERT_EQ(mkfifo((root / "fifo").c_str(), 0600), 0);
  const auto store = Open();
  EXPECT_EQ(ReadAll(*store, "fifo"), "not found");
  EXPECT_EQ(store->Stat("fifo").error().code, ErrorCode::kNotFound);
  EXPECT_TRUE(store->List("").value().empty());
}

TEST_F(LocalStoreTest, KeyThatIsNoKeyIsInvalid) {
  Write("a/k", "x");
  const auto store = Open();
  for (const std::string_view key : {"/a/k", "a//k", "a/", "./a/k", "a/../a/k", ".."}) {
    EXPECT_EQ(ReadAll(*store, key), "invalid argument") << key;
    EXPECT_EQ(store->Stat(key).error().code, ErrorCode::kInvalidArgument) << key;
    EXPECT_EQ(store->List(key).error().code, ErrorCode::kInvalidArgument) << key;
  }
  EXPECT_EQ(ReadAll(*store, std::string_view("a/k\0x", 5)), "invalid argument");
}

TEST_F(LocalStoreTest, NameThatIsTooLongDoesNotExist) {
  const auto store = Open();
  EXPECT_EQ(ReadAll(*store, std::string(256, 'x')), "not found");
  EXPECT_EQ(store->Stat(std::string(256, 'x')).error().code, ErrorCode::kNotFound);
  std::string path = "a";
  while (path.size() < 5000) path += "/a";
  EXPECT_EQ(ReadAll(*store, path), "not found");
}

TEST_F(LocalStoreTest, DeepKeysAreRead) {
  std::string key = "d";
  for (int i = 0; i < 200; ++i) key += "/d";
  key += "/k";
  Write(key, "deep");
  EXPECT_EQ(ReadAll(*Open(), key), "deep");
}

TEST_F(LocalStoreTest, NothingIsSaidToBeAbsentFromADeletedFolder) {
  const auto store = Open();
  fs::remove_all(root);
  EXPECT_EQ(ReadAll(*store, "k"), "input/output error");
  fs::create_directories(root);
}

TEST_F(LocalStoreTest, UnreadableObjectIsDenied) {
  Write("k", "x");
  chmod(root.c_str(), 0755);
  chmod((root / "k").c_str(), 0);
  const auto store = Open();
  // Root reads everything: this thread is somebody else for a moment.
  const bool root_runs_this = geteuid() == 0;
  if (root_runs_this) setfsuid(65534);
  EXPECT_EQ(ReadAll(*store, "k"), "permission denied");
  if (root_runs_this) setfsuid(0);
}

// --- Symbolic links
// -------------------------------------------------------------------------------

TEST_F(LocalStoreTest, LinkWithinTheStoreIsFollowed) {
  Write("a/b/k", "linked");
  fs::create_symlink("a/b", root / "to_folder");
  fs::create_symlink("../../a/b/k", root / "a/b/to_file");
  const auto store = Open();
  EXPECT_EQ(ReadAll(*store, "to_folder/k"), "linked");
  EXPECT_EQ(ReadAll(*store, "a/b/to_file"), "linked");
  EXPECT_TRUE(store->Stat("to_folder").value().is_folder);
}

TEST_F(LocalStoreTest, LinkThatLeavesTheStoreIsDenied) {
  std::ofstream(outer / "secret") << "secret";
  fs::create_symlink(outer / "secret", root / "absolute");
  fs::create_symlink("../secret", root / "relative");
  fs::create_symlink("..", root / "up");
  fs::create_symlink("/proc/self/root", root / "magic");
  const auto store = Open();
  for (const std::string_view key : {"absolute", "relative", "up/secret", "magic/etc/passwd"}) {
    const auto stat = store->Stat(key);
    ASSERT_FALSE(stat) << key;
    EXPECT_EQ(stat.error().code, ErrorCode::kPermissionDenied) << key;
    EXPECT_EQ(stat.error().message, std::string(key) + ": symbolic link leaves the store");
    EXPECT_EQ(ReadAll(*store, key), "permission denied") << key;
  }
}

TEST_F(LocalStoreTest, LinkToItselfIsDenied) {
  fs::create_symlink("loop", root / "loop");
  EXPECT_EQ(Open()->Stat("loop").error().code, ErrorCode::kPermissionDenied);
}

TEST_F(LocalStoreTest, DanglingLinkIsNotFound) {
  fs::create_symlink("nowhere", root / "dangling");
  EXPECT_EQ(Open()->Stat("dangling").error().code, ErrorCode::kNotFound);
}

// --- Listing
// --------------------------------------------------------------------------------------

TEST_F(LocalStoreTest, ListsObjectsAndFoldersAndLinksToThem) {
  Write("a/k", "x");
  Write("file", "x");
  fs::create_symlink("a", root / "to_folder");
  fs::create_symlink("file", root / "to_file");
  fs::create_symlink("nowhere", root / "dangling");
  fs::create_symlink("loop", root / "loop");
  fs::create_symlink("..", root / "leaving");
  EXPECT_EQ(SortedList(*Open(), ""),
            (std::vector<ListEntry>{
                {"a", true}, {"file", false}, {"to_file", false}, {"to_folder", true}}));
  EXPECT_EQ(SortedList(*Open(), "to_folder"), (std::vector<ListEntry>{{"k", false}}));
}

TEST_F(LocalStoreTest, ListsManyNames) {
  for (int i = 0; i < 3000; ++i) Write("c/" + std::to_string(i), "");
  EXPECT_EQ(Open()->List("c").value().size(), 3000U);
}

TEST_F(LocalStoreTest, MissingFolderIsNotFound) {
  EXPECT_EQ(Open()->List("missing").error().code, ErrorCode::kNotFound);
}

// --- Versions
// -------------------------------------------------------------------------------------

TEST_F(LocalStoreTest, ReplacedObjectIsReadOnUnderItsOldVersion) {
  Write("k", "old");
  const auto store = Open();
  const auto object = OpenObject(*store, "k");
  Replace("k", "new");
  EXPECT_EQ(ReadOn(*object, 0, 3), "old");
  EXPECT_EQ(ReadAll(*store, "k"), "new");
  EXPECT_NE(object->info().version, store->Stat("k").value().version);
}

TEST_F(LocalStoreTest, UnlinkedObjectIsReadOn) {
  Write("k", "old");
  const auto store = Open();
  const auto object = OpenObject(*store, "k");
  fs::remove(root / "k");
  EXPECT_EQ(ReadOn(*object, 0, 3), "old");
  EXPECT_EQ(ReadAll(*store, "k"), "not found");
}

TEST_F(LocalStoreTest, ObjectRewrittenInPlaceIsStale) {
  Write("k", "old");
  const auto object = OpenObject(*Open(), "k");
  const auto time = fs::last_write_time(root / "k");
  std::this_thread::sleep_for(std::chrono::milliseconds(20));  // the clock of the file system
  Write("k", "new");
  fs::last_write_time(root / "k", time);  // a kept time hides nothing: ctime tells
  EXPECT_EQ(ReadOn(*object, 0, 3), "changed meanwhile");
}

TEST_F(LocalStoreTest, TruncatedObjectIsStaleAndNotShort) {
  Write("k", "0123456789");
  const auto object = OpenObject(*Open(), "k");
  fs::resize_file(root / "k", 4);
  EXPECT_EQ(ReadOn(*object, 0, 10), "changed meanwhile");
  EXPECT_EQ(ReadOn(*object, 0, 2), "changed meanwhile");
}

TEST_F(LocalStoreTest, GrownObjectIsStale) {
  Write("k", "0123");
  const auto object = OpenObject(*Open(), "k");
  Write("k", "01234567");
  EXPECT_EQ(ReadOn(*object, 0, 4), "changed meanwhile");
  EXPECT_EQ(ReadOn(*object, 0, 8), "changed meanwhile");
}

// --- Open files
// -----------------------------------------------------------------------------------

size_t OpenDescriptors() {
  return static_cast<size_t>(std::distance(fs::directory_iterator("/proc/self/fd"), {}));
}

TEST_F(LocalStoreTest, MoreObjectsThanOpenFilesAreAllReadable) {
  const auto store = Open(3);
  const size_t before = OpenDescriptors();
  std::vector<std::shared_ptr<const Object>> objects;
  for (int i = 0; i < 20; ++i) {
    Write(std::to_string(i), "bytes of " + std::to_string(i));
    objects.push_back(OpenObject(*store, std::to_string(i)));
  }
  for (int round = 0; round < 2; ++round) {
    for (size_t i = 0; i < objects.size(); ++i) {
      const std::string expected = "bytes of " + std::to_string(i);
      EXPECT_EQ(ReadOn(*objects[i], 0, expected.size()), expected);
    }
  }
  EXPECT_EQ(OpenDescriptors(), before + 3);
  objects.clear();
  EXPECT_EQ(OpenDescriptors(), before);
}

TEST_F(LocalStoreTest, ClosedObjectThatWasReplacedOrRemovedIsStale) {
  const auto store = Open(1);
  Write("replaced", "old");
  Write("removed", "old");
  Write("kept", "old");
  const auto replaced = OpenObject(*store, "replaced");
  const auto removed = OpenObject(*store, "removed");
  const auto kept = OpenObject(*store, "kept");
  (void)OpenObject(*store, "kept");  // closes the others
  Replace("replaced", "new");
  fs::remove(root / "removed");
  EXPECT_EQ(ReadOn(*replaced, 0, 3), "changed meanwhile");
  EXPECT_EQ(ReadOn(*removed, 0, 3), "changed meanwhile");
  EXPECT_EQ(ReadOn(*kept, 0, 3), "old");
}

TEST_F(LocalStoreTest, ManyThreadsReadMoreObjectsThanOpenFiles) {
  const auto store = Open(2);
  std::vector<std::shared_ptr<const Object>> objects;
  for (int i = 0; i < 8; ++i) {
    Write(std::to_string(i), std::string(1000, static_cast<char>('a' + i)));
    objects.push_back(OpenObject(*store, std::to_string(i)));
  }
  std::vector<std::thread> threads;
  for (size_t thread = 0; thread < 8; ++thread) {
    threads.emplace_back([&objects, thread] {
      for (size_t i = 0; i < 400; ++i) {
        const size_t which = (i * (thread + 1)) % objects.size();
        ASSERT_EQ(ReadOn(*objects[which], 10, 20), std::string(20, static_cast<char>('a' + which)));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_F(LocalStoreTest, KeptDescriptorsMakeRoomWhenTheProcessHasNoMore) {
  const auto store = Open(1000);
  std::vector<std::shared_ptr<const Object>> objects;
  Write("k", "bytes");
  for (int i = 0; i < 20; ++i) objects.push_back(OpenObject(*store, "k"));
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  rlimit lowered = limit;
  lowered.rlim_cur = 64;
  setrlimit(RLIMIT_NOFILE, &lowered);
  std::vector<int> taken;
  for (int fd = dup(0); fd >= 0; fd = dup(0)) taken.push_back(fd);
  const std::string read = ReadAll(*store, "k");
  const std::string read_on = ReadOn(*objects[0], 0, 5);
  setrlimit(RLIMIT_NOFILE, &limit);
  for (const int fd : taken) close(fd);
  EXPECT_FALSE(taken.empty());
  EXPECT_EQ(read, "bytes");
  EXPECT_EQ(read_on, "bytes");
}

TEST(OpenFileLimitTest, IsRaisedToTheHardLimit) {
  rlimit before{};
  getrlimit(RLIMIT_NOFILE, &before);
  EXPECT_EQ(RaiseOpenFileLimit(), before.rlim_max);
  rlimit after{};
  getrlimit(RLIMIT_NOFILE, &after);
  EXPECT_EQ(after.rlim_cur, before.rlim_max);
  setrlimit(RLIMIT_NOFILE, &before);
}

// --- Mounts inside the store
// ----------------------------------------------------------------------

struct LocalStoreMountTest : LocalStoreTest {
  void SetUp() override {
    LocalStoreTest::SetUp();
    // Mounts of its own, so that no other process meets the one that nobody serves.
    // (In a chroot whose root is no mount point there is nothing to make private: EINVAL.)
    if (unshare(CLONE_NEWNS) != 0 ||
        (mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 && errno != EINVAL)) {
      FAIL() << "these tests mount: run them as root";
    }
  }
  void TearDown() override {
    if (fuse >= 0) close(fuse);  // ends the connection: whoever waits for an answer gets an error
    for (auto at = mounts.rbegin(); at != mounts.rend(); ++at) umount2(at->c_str(), MNT_DETACH);
    LocalStoreTest::TearDown();
  }

  bool Mount(const fs::path& key, const char* type, const std::string& options) {
    fs::create_directories(root / key);
    if (mount(type, (root / key).c_str(), type, MS_NOSUID | MS_NODEV, options.c_str()) != 0) {
      return false;
    }
    mounts.push_back(root / key);
    return true;
  }

  // A zarrfs mount that nobody serves: whoever sends it a request waits for ever.
  bool MountUnserved(const fs::path& key) {
    fuse = open("/dev/fuse", O_RDWR | O_CLOEXEC);
    return fuse >= 0 && Mount(key, "fuse.zarrfs",
                              "fd=" + std::to_string(fuse) +
                                  ",rootmode=40000,user_id=0,group_id=0,default_permissions");
  }

  int fuse = -1;
  std::vector<fs::path> mounts;
};

TEST_F(LocalStoreMountTest, OtherMountsAreReadLikeFolders) {
  ASSERT_TRUE(Mount("a/inside", "tmpfs", "size=1m"));
  Write("a/inside/c/k", "in the mount");
  Write("a/k", "outside");
  fs::create_symlink("../../a/k", root / "a/inside/back");
  fs::create_symlink("a/inside/c", root / "into");
  fs::create_symlink("../../../secret", root / "a/inside/leaving");
  const auto store = Open();
  EXPECT_EQ(ReadAll(*store, "a/inside/c/k"), "in the mount");
  EXPECT_EQ(ReadAll(*store, "into/k"), "in the mount");
  EXPECT_EQ(ReadAll(*store, "a/inside/back"), "outside");
  EXPECT_EQ(store->Stat("a/inside/leaving").error().code, ErrorCode::kPermissionDenied);
  EXPECT_TRUE(store->Stat("a/inside").value().is_folder);
  EXPECT_EQ(SortedList(*store, "a"), (std::vector<ListEntry>{{"inside", true}, {"k", false}}));
  EXPECT_EQ(SortedList(*store, "a/inside"), (std::vector<ListEntry>{{"back", false}, {"c", true}}));
  EXPECT_EQ(ReadOn(*OpenObject(*store, "a/inside/c/k"), 3, 3), "the");
}

TEST_F(LocalStoreMountTest, ZarrfsMountIsAbsentAndIsSentNoRequest) {
  Write("a/k", "x");
  ASSERT_TRUE(MountUnserved("a/mnt"));
  fs::create_symlink("a/mnt/v3", root / "into");
  fs::create_symlink("a/mnt", root / "to_mount");
  const auto store = Open();
  auto asked = std::async(std::launch::async, [&] {
    EXPECT_EQ(store->Stat("a/mnt").error().code, ErrorCode::kNotFound);
    EXPECT_EQ(store->Stat("a/mnt/v3/zarr.json").error().code, ErrorCode::kNotFound);
    EXPECT_EQ(store->List("a/mnt").error().code, ErrorCode::kNotFound);
    EXPECT_EQ(ReadAll(*store, "a/mnt/k"), "not found");
    EXPECT_EQ(ReadAll(*store, "into/zarr.json"), "not found");
    EXPECT_EQ(SortedList(*store, "a"), (std::vector<ListEntry>{{"k", false}}));
    EXPECT_EQ(SortedList(*store, ""), (std::vector<ListEntry>{{"a", true}}));
  });
  const bool answered = asked.wait_for(std::chrono::seconds(10)) == std::future_status::ready;
  if (!answered) {
    close(std::exchange(fuse, -1));
    FAIL() << "a request was sent to the mount";
  }
}

}  // namespace
}  // namespace zarrfs
