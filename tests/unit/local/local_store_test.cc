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
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/unit/local/local_store_testing.h"

namespace zarrfs::local_store_test {
namespace {

// --- Opening
// --------------------------------------------------------------------------------------

TEST_F(LocalStoreTest, OpeningFailsWithTheReason) {
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

TEST_F(LocalStoreTest, StatAndReadReportTheSame) {
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

TEST_F(LocalStoreTest, TimesBeyond2262AreTheLastOne) {
  Write("k", "01234");
  constexpr time_t kYear2446 = 15'000'000'000;
  const timespec times[] = {{kYear2446, 0}, {kYear2446, 0}};
  ASSERT_EQ(utimensat(AT_FDCWD, (root / "k").c_str(), times, 0), 0);
  struct stat status = {};
  ASSERT_EQ(stat((root / "k").c_str(), &status), 0);
  if (status.st_mtim.tv_sec != kYear2446) GTEST_SKIP() << "the file system has no such times";
  const auto store = Open();
  EXPECT_EQ(store->Stat("k").value().version.mtime_ns, INT64_MAX);
  EXPECT_EQ(ReadOn(*OpenObject(*store, "k"), 1, 3), "123");
}

// --- Keys without an object
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

TEST_F(LocalStoreTest, FifoCannotBeReadAndHangsNobody) {
  ASSERT_EQ(mkfifo((root / "fifo").c_str(), 0600), 0);
  const auto store = Open();
  EXPECT_EQ(ReadAll(*store, "fifo"), "not supported");
  EXPECT_EQ(store->Stat("fifo").error().code, ErrorCode::kUnsupported);
  EXPECT_EQ(store->List("").value(), (std::vector<ListEntry>{{"fifo", false, true}}));
}

TEST_F(LocalStoreTest, AMalformedKeyIsInvalid) {
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
  // Root may read everything, so this thread briefly acts as another user.
  const bool root_runs_this = geteuid() == 0;
  if (root_runs_this) setfsuid(65534);
  EXPECT_EQ(ReadAll(*store, "k"), "permission denied");
  if (root_runs_this) setfsuid(0);
}

// --- Listing
// --------------------------------------------------------------------------------------

TEST_F(LocalStoreTest, ListsObjectsAndFoldersAndLinksToThem) {
  Write("a/k", "x");
  Write("file", "x");
  fs::create_symlink("a", root / "to_folder");
  fs::create_symlink("file", root / "to_file");
  EXPECT_EQ(SortedList(*Open(), ""),
            (std::vector<ListEntry>{
                {"a", true}, {"file", false}, {"to_file", false}, {"to_folder", true}}));
  EXPECT_EQ(SortedList(*Open(), "to_folder"), (std::vector<ListEntry>{{"k", false}}));
}

TEST_F(LocalStoreTest, ListsManyNames) {
  for (int i = 0; i < 3000; ++i) Write("c/" + std::to_string(i), "");
  EXPECT_EQ(Open()->List("c").value().size(), 3000U);
}

TEST_F(LocalStoreTest, ListsAFewNamesAtATime) {
  for (int i = 0; i < 100; ++i) Write("c/" + std::to_string(i), "");
  const auto stream = Open()->OpenFolder("c").value();  // outlives the store
  std::set<std::string> names;
  for (size_t left = 100; left > 0;) {
    const auto next = stream->Next(30).value();
    ASSERT_EQ(next.size(), std::min<size_t>(left, 30));
    for (const ListEntry& entry : next) names.insert(entry.name);
    left -= next.size();
  }
  EXPECT_EQ(names.size(), 100U);
  EXPECT_TRUE(stream->Next(30).value().empty());
  EXPECT_TRUE(stream->Next(30).value().empty());
}

TEST_F(LocalStoreTest, AListingGivesWhatStaysOnceWhileOtherNamesComeAndGo) {
  for (int i = 0; i < 3000; ++i) Write("c/" + std::to_string(i), "");
  const auto store = Open();
  const auto stream = store->OpenFolder("c").value();
  std::multiset<std::string> names;
  for (int more = 0;; ++more) {
    const auto next = stream->Next(50).value();
    if (next.empty()) break;
    for (const ListEntry& entry : next) names.insert(entry.name);
    fs::remove(root / "c" / std::to_string(10 * more + 5));
    if (more < 100) Write("c/new" + std::to_string(more), "");
  }
  for (int i = 0; i < 3000; i += 10) EXPECT_EQ(names.count(std::to_string(i)), 1U) << i;
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
  std::this_thread::sleep_for(std::chrono::milliseconds(20));  // file timestamps are coarse
  Write("k", "new");
  fs::last_write_time(root / "k", time);  // ctime still shows the change
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
  (void)OpenObject(*store, "kept");  // evicts the descriptors of the other objects
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
  EXPECT_EQ(store->Stat("a/inside/leaving").error().code, ErrorCode::kLinkRefused);
  EXPECT_TRUE(store->Stat("a/inside").value().is_folder);
  EXPECT_EQ(SortedList(*store, "a"), (std::vector<ListEntry>{{"inside", true}, {"k", false}}));
  EXPECT_EQ(SortedList(*store, "a/inside"),
            (std::vector<ListEntry>{{"back", false}, {"c", true}, {"leaving", false, true}}));
  EXPECT_EQ(ReadOn(*OpenObject(*store, "a/inside/c/k"), 3, 3), "the");
}

// Mounts are found by the path of the folder. The mount table and /proc escape some names.
TEST_F(LocalStoreMountTest, ZarrfsMountIsSeenInFoldersOfAnyName) {
  const std::vector<std::string> folders = {"a b", "a (deleted)", "a\\040b", "a\nb"};
  for (const std::string& folder : folders) ASSERT_TRUE(MountUnserved(folder + "/mnt")) << folder;
  const auto store = Open();
  ExpectAnswers([&] {
    for (const std::string& folder : folders) {
      EXPECT_EQ(SortedList(*store, folder), (std::vector<ListEntry>{{"mnt", true, true}}))
          << folder;
    }
  });
}

TEST_F(LocalStoreMountTest, ZarrfsMountIsRefusedAndIsSentNoRequest) {
  Write("a/k", "x");
  ASSERT_TRUE(MountUnserved("a/mnt"));
  fs::create_symlink("a/mnt/v3", root / "into");
  fs::create_symlink("a/mnt", root / "to_mount");
  fs::create_symlink(root / "a/mnt/v3/k", root / "absolute");
  const auto store = Open("follow");
  ExpectAnswers([&] {
    for (const std::string_view key : {"a/mnt", "a/mnt/v3/zarr.json"}) {
      const auto stat = store->Stat(key);
      ASSERT_FALSE(stat) << key;
      EXPECT_EQ(stat.error().code, ErrorCode::kZarrfsMount) << key;
      EXPECT_EQ(stat.error().message, "a/mnt: a zarrfs mount, which is never entered");
      EXPECT_EQ(ReadAll(*store, key), "a zarrfs mount") << key;
      EXPECT_EQ(store->List(key).error().code, ErrorCode::kZarrfsMount) << key;
    }
    for (const std::string_view key : {"into", "into/zarr.json", "to_mount", "absolute"}) {
      EXPECT_EQ(ReadAll(*store, key), "symbolic link not followed") << key;
      EXPECT_EQ(store->List(key).error().code, ErrorCode::kLinkRefused) << key;
    }
    EXPECT_EQ(SortedList(*store, "a"), (std::vector<ListEntry>{{"k", false}, {"mnt", true, true}}));
    EXPECT_EQ(SortedList(*store, ""), (std::vector<ListEntry>{{"a", true},
                                                              {"absolute", false, true},
                                                              {"into", false, true},
                                                              {"to_mount", false, true}}));
  });
}

TEST_F(LocalStoreMountTest, LinksOfAStoreBelowAZarrfsMountSendItNoRequest) {
  Write("k", "x");
  const fs::path elsewhere = fs::path(outer.string() + ".elsewhere");
  std::ofstream(elsewhere) << "elsewhere";
  fs::create_symlink("../secret", root / "up");
  fs::create_symlink(outer / "secret", root / "down");
  fs::create_symlink(root / "k", root / "inside");
  fs::create_symlink(elsewhere, root / "outside");
  const auto store = OpenLocalStore(root.string(), {.follow_path = false,
                                                    .links = ParseLinkPolicy("follow").value()})
                         .value();
  ASSERT_TRUE(MountUnserved(".."));
  ExpectAnswers([&] {
    EXPECT_EQ(ReadAll(*store, "up"), "symbolic link not followed");
    EXPECT_EQ(ReadAll(*store, "down"), "symbolic link not followed");
    EXPECT_EQ(ReadAll(*store, "inside"), "x");
    EXPECT_EQ(ReadAll(*store, "outside"), "elsewhere");
  });
  fs::remove(elsewhere);
}

}  // namespace
}  // namespace zarrfs::local_store_test
