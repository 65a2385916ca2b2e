// What a reader sees when the store changes under the mount, for each kind of change and each way
// in which a mount notices changes.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <tuple>
#include <utility>
#include <vector>

#include "tests/mount/mounted.h"
#include "tests/mount/programs.h"
#include "tests/mount/sample_store.h"

namespace zarrfs::change_matrix_test {
namespace {

namespace fs = std::filesystem;

// --- The store, before and after

constexpr size_t kPage = 4096;
constexpr size_t kMiB = 1 << 20;
constexpr size_t kBig = 3 * kMiB;  // far more than the kernel reads ahead

const std::string& Bytes(uint64_t seed) {
  static std::map<uint64_t, std::string> made;
  std::string& bytes = made[seed];
  if (bytes.empty()) bytes = Pattern(kBig, seed);
  return bytes;
}

// The new shard lacks chunk 1.1 and has chunk 1.0 instead.
std::string OldShard() { return EncodeShard(4, {{0, Bytes(1)}, {1, Bytes(2)}, {3, "11111"}}); }
std::string NewShard(const std::string& longer) {
  return EncodeShard(4, {{0, Bytes(3) + longer}, {1, Bytes(4)}, {2, "10101"}});
}

std::string ArrayJson(uint64_t rows, char text) {
  SampleArray array = SampleArrayOfStore();
  array.shape[0] = rows;
  array.attributes =
      R"({"text": ")" + std::string(kBig, text) + R"(", "_ARRAY_DIMENSIONS": ["b", "x"]})";
  return array.ZarrJson();
}

void WriteStore(const fs::path& store, const std::string& shard, char text) {
  Replace(store / "zarr.json", GroupJson());
  Replace(store / "a/zarr.json", ArrayJson(40, text));
  Replace(store / "a/c/0/0", shard);
  Replace(store / "a/c/0/1", EncodeShard(4, {{0, "02"}, {2, "12"}}));
  Replace(store / "a/c/1/0", EncodeShard(4, {{2, "30"}}));
  Replace(store / "a/c/2/0", EncodeShard(4, {{0, "beyond the array"}}));
}

void KeepTimes(const fs::path& path, const struct stat& of) {
  const timespec times[] = {of.st_atim, of.st_mtim};
  ASSERT_EQ(utimensat(AT_FDCWD, path.c_str(), times, 0), 0) << std::strerror(errno);
}

struct stat StatusOf(const fs::path& path) {
  struct stat status = {};
  EXPECT_EQ(stat(path.c_str(), &status), 0) << path << ": " << std::strerror(errno);
  return status;
}

// --- The changes. `store` is the mounted path.

void ReplaceShard(const fs::path& store) { Replace(store / "a/c/0/0", NewShard("longer")); }

void RewriteShard(const fs::path& store) { RewriteInPlace(store / "a/c/0/0", NewShard("longer")); }

// "Alike" means other bytes with the same size and modification time.
void ReplaceShardAlike(const fs::path& store) {
  const struct stat before = StatusOf(store / "a/c/0/0");
  Replace(store / "a/c/0/0", NewShard(""));
  KeepTimes(store / "a/c/0/0", before);
}

void RewriteShardAlike(const fs::path& store) {
  const struct stat before = StatusOf(store / "a/c/0/0");
  RewriteInPlace(store / "a/c/0/0", NewShard(""));
  KeepTimes(store / "a/c/0/0", before);
}

void DeleteShard(const fs::path& store) { fs::remove(store / "a/c/0/0"); }

void AddShard(const fs::path& store) { Replace(store / "a/c/1/1", EncodeShard(4, {{3, "33"}})); }

void ResizeArray(const fs::path& store) { Replace(store / "a/zarr.json", ArrayJson(60, 'a')); }

void EditAttributes(const fs::path& store) { Replace(store / "a/zarr.json", ArrayJson(40, 'b')); }

void AddArray(const fs::path& store) {
  Replace(store / "b/zarr.json", SampleArrayOfStore().ZarrJson());
  Replace(store / "b/c/0/0", EncodeShard(4, {{0, "00"}}));
}

// The view netcdf then renames the first dimension of `a`, which has another length.
void AddCoordinate(const fs::path& store) {
  SampleArray array{.shape = {7}, .shard = {4}, .chunk = {2}};
  array.attributes = R"({"_ARRAY_DIMENSIONS": ["b"]})";
  Replace(store / "b/zarr.json", array.ZarrJson());
}

void SwapStore(const fs::path& store) {
  WriteStore(store.parent_path() / "next.zarr", NewShard("longer"), 'b');
  fs::rename(store, store.parent_path() / "last.zarr");
  fs::rename(store.parent_path() / "next.zarr", store);
}

void FlipLinkToStore(const fs::path& link) {
  WriteStore(link.parent_path() / "next.zarr", NewShard("longer"), 'b');
  fs::create_directory_symlink("next.zarr", link.parent_path() / "link");
  fs::rename(link.parent_path() / "link", link);
}

// --- The table

// The result of opening and reading a path once the change is visible.
enum class Path { kReadsOld, kReadsNew, kIsGone };

// The result of reading bytes for the first time, through a descriptor or a mapping from before the
// change. The error is ESTALE or SIGBUS.
enum class Held { kOld, kOldOrError, kError };

enum class Inode { kSame, kOther, kAny };

// The text of v2/.zmetadata once the change is visible. A descriptor of it from before the change
// gives the old text or ESTALE.
enum class Summary { kSame, kNew };

// kMovesIfTold: only if the store reports changes. With `ttl=`, a new object is not noticed.
enum class FolderTime { kMoves, kMovesIfTold, kAny };

// The file that a row of the table opens, another file of the same kind that it maps, and the known
// contents of both: all bytes of chunks, but only a long text in metadata files.
struct Files {
  std::string path;
  std::string mapped;
  bool all_known = true;
  std::string new_text = "";
};
const Files kChunk = {"v2/a/0.0", "v2/a/0.1"};
const Files kMetadata = {"v3/a/zarr.json", "v2/a/.zattrs", false, std::string(kBig, 'b')};
const Files kShared = {"netcdf/a/.zattrs", "v2/a/.zattrs", false, "\"b_40\""};

using Names = std::vector<std::string>;
const std::string kSummary = "v2/.zmetadata";

const Names kNone;
const Names kChunk10 = {"v2/a/1.0", "v3/a/c/1/0"};
const Names kChunk11 = {"v2/a/1.1", "v3/a/c/1/1"};
const Names kChunk33 = {"v2/a/3.3", "v3/a/c/3/3"};
const Names kRow4 = {"v2/a/4.0", "v3/a/c/4", "v3/a/c/4/0"};
const Names kShard00 = {"v2/a/0.0",   "v2/a/0.1",   "v2/a/1.1",
                        "v3/a/c/0/0", "v3/a/c/0/1", "v3/a/c/1/1"};
const Names kCoordinateB = {"v2/b", "v3/b", "netcdf/b"};
const Names kArrayB = {"v2/b", "v3/b", "v2/b/0.0", "v3/b/c/0/0"};

struct Row {
  std::string name;
  void (*change)(const fs::path& store);
  Files files;
  Path path;
  Held held;
  Inode inode;
  FolderTime folder_time;  // of the folders of the array
  Summary summary;
  Names appear;  // absent before, and looked up
  Names vanish;
};

// clang-format off
const std::vector<Row> kRows = {
    // change                                  file       its path         if held before     inode          time of folder      .zmetadata      appear    vanish
    {"ShardReplaced",       ReplaceShard,      kChunk,    Path::kReadsNew, Held::kOld,        Inode::kOther, FolderTime::kMoves, Summary::kSame, kChunk10, kChunk11},
    {"ShardReplacedAlike",  ReplaceShardAlike, kChunk,    Path::kReadsNew, Held::kOld,        Inode::kOther, FolderTime::kMoves, Summary::kSame, kChunk10, kChunk11},
    {"ShardRewritten",      RewriteShard,      kChunk,    Path::kReadsNew, Held::kError,      Inode::kOther, FolderTime::kMoves, Summary::kSame, kChunk10, kChunk11},
    {"ShardRewrittenAlike", RewriteShardAlike, kChunk,    Path::kReadsNew, Held::kError,      Inode::kOther, FolderTime::kMoves, Summary::kSame, kChunk10, kChunk11},
    {"ShardDeleted",        DeleteShard,       kChunk,    Path::kIsGone,   Held::kOld,        Inode::kAny,   FolderTime::kMoves, Summary::kSame, kNone,    kShard00},
    {"ShardAdded",          AddShard,          kChunk,    Path::kReadsOld, Held::kOld,        Inode::kSame,  FolderTime::kMovesIfTold, Summary::kSame, kChunk33, kNone},
    {"ArrayResized",        ResizeArray,       kChunk,    Path::kReadsOld, Held::kOldOrError, Inode::kAny,   FolderTime::kAny,   Summary::kNew,  kRow4,    kNone},
    {"AttributesEdited",    EditAttributes,    kMetadata, Path::kReadsNew, Held::kOldOrError, Inode::kOther, FolderTime::kAny,   Summary::kNew,  kNone,    kNone},
    {"ArrayAdded",          AddArray,          kChunk,    Path::kReadsOld, Held::kOld,        Inode::kSame,  FolderTime::kAny,   Summary::kNew,  kArrayB,  kNone},
    {"CoordinateAdded",     AddCoordinate,     kShared,   Path::kReadsNew, Held::kOldOrError, Inode::kOther, FolderTime::kAny,   Summary::kNew,  kCoordinateB, kNone},
    {"StoreSwapped",        SwapStore,         kChunk,    Path::kReadsNew, Held::kOld,        Inode::kOther, FolderTime::kMoves, Summary::kNew,  kChunk10, kChunk11},
    {"LinkToStoreFlipped",  FlipLinkToStore,   kChunk,    Path::kReadsNew, Held::kOld,        Inode::kOther, FolderTime::kMoves, Summary::kNew,  kChunk10, kChunk11},
};
// clang-format on

// A mount that never checks again shows all paths, names, inodes and times unchanged. Descriptors
// and mappings behave as in the table.
struct Mode {
  std::string name;
  std::string options;
  bool looks_again = true;
  bool is_told = true;  // true if the store reports changes
  Seconds visible_within{5};
};
const std::vector<Mode> kModes = {
    {.name = "Watched", .options = ""},
    {.name = "Ttl", .options = "ttl=0.5", .is_told = false, .visible_within = Seconds(3.5)},
    {.name = "NoEpoch", .options = "no_epoch"},
    {.name = "Immutable", .options = "immutable", .looks_again = false, .is_told = false},
};

void PrintTo(const Row& row, std::ostream* out) { *out << row.name; }
void PrintTo(const Mode& mode, std::ostream* out) { *out << mode.name; }

// --- The reader

struct ReadOutcome {
  std::string bytes;
  int error = 0;
};

// Reads up to `size` bytes from `offset` on.
ReadOutcome ReadFrom(int fd, size_t offset, size_t size) {
  ReadOutcome outcome;
  std::vector<char> part(16 * kPage);
  while (outcome.bytes.size() < size) {
    const ssize_t have = pread(fd, part.data(), std::min(part.size(), size - outcome.bytes.size()),
                               static_cast<off_t>(offset + outcome.bytes.size()));
    if (have < 0) outcome.error = errno;
    if (have <= 0) break;
    outcome.bytes.append(part.data(), static_cast<size_t>(have));
  }
  return outcome;
}

ReadOutcome ReadPath(const fs::path& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return {"", errno};
  ReadOutcome outcome = ReadFrom(fd, 0, 10 * kBig);
  close(fd);
  return outcome;
}

enum class Seen { kOld, kOther, kError };

void PrintTo(Seen seen, std::ostream* out) {
  *out << (seen == Seen::kOld ? "old bytes" : seen == Seen::kError ? "the error" : "anything else");
}

// A file that is opened or mapped before the change, and of which only the first page is read then.
class HeldFile {
 public:
  explicit HeldFile(const fs::path& path)
      : fd_(open(path.c_str(), O_RDONLY | O_CLOEXEC)),
        size_(static_cast<size_t>(StatusOf(path).st_size)) {}
  ~HeldFile() {
    if (map_ != MAP_FAILED) munmap(map_, size_);
    close(fd_);
  }
  HeldFile(const HeldFile&) = delete;
  HeldFile& operator=(const HeldFile&) = delete;

  [[nodiscard]] std::string ReadFirstPage() { return ReadFrom(fd_, 0, kPage).bytes; }
  [[nodiscard]] std::string MapFirstPage() {
    map_ = mmap(nullptr, size_, PROT_READ, MAP_SHARED, fd_, 0);
    if (map_ == MAP_FAILED) return std::strerror(errno);
    return {static_cast<const char*>(map_), kPage};
  }

  [[nodiscard]] Seen Read(size_t offset, std::string_view old) const {
    const ReadOutcome outcome = ReadFrom(fd_, offset, old.size());
    if (outcome.bytes != old.substr(0, outcome.bytes.size())) return Seen::kOther;
    if (outcome.error == ESTALE) return Seen::kError;
    return outcome.bytes.size() == old.size() ? Seen::kOld : Seen::kOther;
  }

  // Reads in a child process, because a SIGBUS may end it.
  [[nodiscard]] Seen Map(size_t offset, std::string_view old) const {
    const pid_t child = fork();
    if (child == 0) {
      signal(SIGBUS, [](int) { _exit(static_cast<int>(Seen::kError)); });
      const bool same =
          std::memcmp(static_cast<const char*>(map_) + offset, old.data(), old.size()) == 0;
      _exit(static_cast<int>(same ? Seen::kOld : Seen::kOther));
    }
    int status = 0;
    if (!Eventually(Seconds(10), [&] { return waitpid(child, &status, WNOHANG) == child; })) {
      kill(child, SIGKILL);
      waitpid(child, &status, 0);
    }
    return WIFEXITED(status) ? static_cast<Seen>(WEXITSTATUS(status)) : Seen::kOther;
  }

 private:
  int fd_;
  size_t size_;
  void* map_ = MAP_FAILED;
};

const Names kFolders = {"v2", "v2/a", "v3", "v3/a/c", "v3/a/c/0", "v3/a/c/1", "v3/a/c/3"};

using Listings = std::map<std::string, std::set<std::string>>;

class ChangeMatrixTest : public testing::TestWithParam<std::tuple<Row, Mode>> {
 protected:
  const Row& row() const { return std::get<Row>(GetParam()); }
  const Mode& mode() const { return std::get<Mode>(GetParam()); }
  fs::path At(const std::string& name) const { return *mount_ / name; }

  // The known old bytes of files.path or, if `mapped`, of files.mapped.
  const std::string& OldBytes(bool mapped) const {
    static const std::string text(kBig, 'a');
    return row().files.all_known ? Bytes(mapped ? 2 : 1) : text;
  }

  bool IsNew(const std::string& bytes) const {
    if (!row().files.all_known) return bytes.find(row().files.new_text) != std::string::npos;
    return bytes == Bytes(3) + "longer" || bytes == Bytes(3);
  }

  // True for all of the old file, or for its beginning and then ESTALE.
  bool IsOld(const ReadOutcome& outcome) const {
    if (outcome.error != 0 && outcome.error != ESTALE) return false;
    if (!row().files.all_known) {
      return outcome.error != 0 ||
             (outcome.bytes.find(OldBytes(false)) != std::string::npos && !IsNew(outcome.bytes));
    }
    return outcome.bytes == OldBytes(false).substr(0, outcome.bytes.size()) &&
           (outcome.error != 0 || outcome.bytes.size() == OldBytes(false).size());
  }

  // True if the path gives the expected result. The test fails if it gives neither that nor the old
  // file.
  bool PathShows(Path expected) const {
    const ReadOutcome outcome = ReadPath(At(row().files.path));
    if (expected == Path::kIsGone && outcome.error == ENOENT) return true;
    if (expected == Path::kReadsNew && outcome.error == 0 && IsNew(outcome.bytes)) return true;
    const bool old = IsOld(outcome);
    EXPECT_TRUE(old) << "neither old nor new: " << outcome.bytes.size() << " bytes, then "
                     << std::strerror(outcome.error);
    return !old || (expected == Path::kReadsOld && outcome.error == 0);
  }

  // True if lookup finds all names of `there`, and fails with ENOENT for all names of `absent`.
  bool NamesAre(const Names& there, const Names& absent) const {
    const auto error = [&](const std::string& name) {
      struct stat status = {};
      return stat(At(name).c_str(), &status) == 0 ? 0 : errno;
    };
    return std::ranges::all_of(there, [&](const auto& name) { return error(name) == 0; }) &&
           std::ranges::all_of(absent, [&](const auto& name) { return error(name) == ENOENT; });
  }

  // True if v2/.zmetadata has exactly the contents of the other metadata files.
  bool SummaryAgrees() const {
    const ReadOutcome outcome = ReadPath(At(kSummary));
    if (outcome.error != 0) return false;
    const auto summary = nlohmann::json::parse(outcome.bytes, nullptr, false);
    if (!summary.is_object()) return false;
    nlohmann::json files = nlohmann::json::object();
    for (const std::string folder : {"", "a/", "b/"}) {
      for (const std::string name : {".zgroup", ".zarray", ".zattrs"}) {
        const ReadOutcome file = ReadPath(At("v2/" + folder + name));
        if (file.error == 0) files[folder + name] = nlohmann::json::parse(file.bytes);
      }
    }
    return summary.value("metadata", nlohmann::json()) == files;
  }

  Listings List() const {
    Listings listings;
    for (const std::string& folder : kFolders) {
      std::error_code error;
      for (fs::directory_iterator at(At(folder), error), end; !error && at != end;
           at.increment(error)) {
        listings[folder].insert(at->path().filename());
      }
      if (error) listings[folder].insert(error.message());
    }
    return listings;
  }

  Listings Changed(Listings listings) const {
    for (const fs::path name : row().appear) {
      const auto folder = listings.find(name.parent_path());
      if (folder != listings.end()) folder->second.insert(name.filename());
    }
    for (const fs::path name : row().vanish) {
      const auto folder = listings.find(name.parent_path());
      if (folder != listings.end()) folder->second.erase(name.filename());
    }
    return listings;
  }

  std::pair<time_t, long> FolderTimeOf(const std::string& folder) const {
    const struct stat status = StatusOf(At(folder));
    return {status.st_mtim.tv_sec, status.st_mtim.tv_nsec};
  }

  // Expects `condition` by the time when the change must be visible.
  template <typename Condition>
  void ExpectSoon(const char* what, const Condition& condition) const {
    const Seconds left = visible_by_ - std::chrono::steady_clock::now();
    EXPECT_TRUE(Eventually(std::max(left, Seconds(0)), condition)) << what;
  }

  static void ExpectHeld(const char* what, Held expected, Seen seen) {
    SCOPED_TRACE(what);
    EXPECT_NE(seen, Seen::kOther) << "new bytes, a mixture, fewer bytes, or another error";
    if (expected == Held::kOld) {
      EXPECT_EQ(seen, Seen::kOld) << "these bytes have not changed";
    } else if (expected == Held::kError) {
      EXPECT_EQ(seen, Seen::kError) << "these bytes are gone";
    }
  }

  TemporaryFolder folder_;
  std::unique_ptr<TestMount> mount_;
  std::chrono::time_point<std::chrono::steady_clock, Seconds> visible_by_;
};

TEST_P(ChangeMatrixTest, ReaderSeesOldThenNewAndNeverAMixture) {
  const Files& files = row().files;
  const fs::path source = folder_ / "sample.zarr";
  const bool linked = row().change == FlipLinkToStore;
  if (linked) fs::create_directory_symlink("first.zarr", source);
  WriteStore(linked ? folder_ / "first.zarr" : source, OldShard(), 'a');
  SleepFor(Seconds(0.05));  // racy versions are not cached
  mount_ = std::make_unique<TestMount>(source, mode().options);

  HeldFile opened(At(files.path));
  HeldFile mapped(At(files.mapped));
  HeldFile summary(At(kSummary));
  const std::string old_summary = ReadPath(At(kSummary)).bytes;
  const struct stat summary_status = StatusOf(At(kSummary));
  const std::string first_opened = opened.ReadFirstPage();
  const std::string first_mapped = mapped.MapFirstPage();
  const struct stat status = StatusOf(At(files.path));
  const auto time_v2 = FolderTimeOf("v2/a");
  const auto time_v3 = FolderTimeOf("v3/a");
  const Listings listings = List();
  ASSERT_EQ(first_opened.size(), kPage);
  ASSERT_EQ(first_mapped.size(), kPage);
  ASSERT_TRUE(NamesAre(row().vanish, row().appear));
  ASSERT_EQ(summary.ReadFirstPage(), old_summary.substr(0, kPage));
  ASSERT_TRUE(SummaryAgrees());

  const auto expect_held = [&](size_t offset) {
    const auto old = [&](bool of_mapped) {
      return std::string_view(OldBytes(of_mapped)).substr(offset, 16 * kPage);
    };
    ExpectHeld("open", row().held, opened.Read(offset, old(false)));
    ExpectHeld("mapped", row().held, mapped.Map(offset, old(true)));
    ExpectHeld("open, read before", Held::kOldOrError, opened.Read(0, first_opened));
    ExpectHeld("mapped, read before", Held::kOld, mapped.Map(0, first_mapped));
    ExpectHeld(".zmetadata open", Held::kOldOrError,
               summary.Read(offset, std::string_view(old_summary).substr(offset, 16 * kPage)));
  };

  row().change(source);
  visible_by_ = std::chrono::steady_clock::now() + mode().visible_within;
  {
    SCOPED_TRACE("right after the change");
    expect_held(1 * kMiB);
  }
  if (mode().looks_again) {
    ExpectSoon("path", [&] { return PathShows(row().path); });
    ExpectSoon("names", [&] { return NamesAre(row().appear, row().vanish); });
    ExpectSoon("listing", [&] { return List() == Changed(listings); });
    EXPECT_EQ(List(), Changed(listings));
    if (row().summary == Summary::kNew) {
      ExpectSoon(".zmetadata", [&] { return ReadPath(At(kSummary)).bytes != old_summary; });
      EXPECT_NE(StatusOf(At(kSummary)).st_ino, summary_status.st_ino);
    } else {
      EXPECT_EQ(ReadPath(At(kSummary)).bytes, old_summary);
      EXPECT_EQ(StatusOf(At(kSummary)).st_ino, summary_status.st_ino);
    }
    ExpectSoon(".zmetadata as the files", [&] { return SummaryAgrees(); });
    if (row().path == Path::kReadsNew) {
      EXPECT_EQ(static_cast<size_t>(StatusOf(At(files.path)).st_size),
                ReadPath(At(files.path)).bytes.size());
    }
    if (row().inode == Inode::kOther) {
      EXPECT_NE(StatusOf(At(files.path)).st_ino, status.st_ino);
    } else if (row().inode == Inode::kSame) {
      EXPECT_EQ(StatusOf(At(files.path)).st_ino, status.st_ino);
    }
    if (row().folder_time == FolderTime::kMoves ||
        (row().folder_time == FolderTime::kMovesIfTold && mode().is_told)) {
      ExpectSoon("time of the folder in v2", [&] { return FolderTimeOf("v2/a") != time_v2; });
      ExpectSoon("time of the folder in v3", [&] { return FolderTimeOf("v3/a") != time_v3; });
    }
  } else {
    SleepFor(Seconds(0.5));  // long enough to notice, if it checked
    EXPECT_TRUE(NamesAre(row().vanish, row().appear));
    EXPECT_EQ(List(), listings);
    EXPECT_EQ(ReadPath(At(kSummary)).bytes, old_summary);
    EXPECT_TRUE(IsOld(ReadPath(At(files.path))));
    EXPECT_EQ(StatusOf(At(files.path)).st_ino, status.st_ino);
    EXPECT_EQ(StatusOf(At(files.path)).st_size, status.st_size);
    EXPECT_EQ(FolderTimeOf("v2/a"), time_v2);
    EXPECT_EQ(FolderTimeOf("v3/a"), time_v3);
  }
  {
    SCOPED_TRACE("once the change is visible");
    expect_held(2 * kMiB);
  }
}

INSTANTIATE_TEST_SUITE_P(, ChangeMatrixTest,
                         testing::Combine(testing::ValuesIn(kRows), testing::ValuesIn(kModes)),
                         [](const auto& cell) {
                           return std::get<Row>(cell.param).name + "_" +
                                  std::get<Mode>(cell.param).name;
                         });

}  // namespace
}  // namespace zarrfs::change_matrix_test
