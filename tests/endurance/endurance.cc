// Endurance: many readers use a mount while writers change its store in all the ways that writers
// do. All bytes read through one descriptor must be of one version. Bytes read through a path must
// be of the current version, or of one that was current a moment ago. A change must explain every
// error. No operation may hang. The daemon's memory and descriptors must not grow.
//
//   endurance_test SECONDS [--faults] [-o OPTIONS]
//
// With --faults, the disk, the memory and the worker also fail at random (mischief.h). Reads may
// then fail for that reason, but existing files must never be absent, and no byte may be wrong.
//
// OPTIONS are those of the mount. Changes must become visible within ten seconds. The last line is
// a summary. The exit code is 1 if anything was wrong.

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <filesystem>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "tests/endurance/content.h"
#include "tests/endurance/history.h"
#include "tests/endurance/mischief.h"
#include "tests/mount/mounted.h"
#include "tests/mount/programs.h"
#include "tests/mount/sample_store.h"

namespace zarrfs {
namespace {

namespace fs = std::filesystem;

constexpr unsigned kReaders = 24;
constexpr uint32_t kArrays = 3;     // each has its own writer
constexpr uint32_t kShardRows = 4;  // the maximum, see RowsOf()
constexpr uint32_t kShardColumns = 3;
constexpr uint32_t kPerShard = 2;  // chunks of a shard along each axis
constexpr uint32_t kColumns = kShardColumns * kPerShard;
constexpr uint32_t kChunkEdge = 10;  // in elements

// The maximum time of an operation, and of a change until it is visible.
Time longest = static_cast<Time>(10e9 * SanitizerFactor());

constexpr size_t kHeld = 6;  // descriptors that a reader keeps open
constexpr size_t kMaxPart = 1 << 20;
constexpr size_t kPage = 4096;

// The daemon keeps replaced shards for a minute, for programs that have them open
// (fs/tree/superseded_shards.h). So its size at the end is compared with its size after a third of
// the time, but after at least this time.
constexpr double kWarmUp = 70;  // in seconds
constexpr int64_t kMoreDescriptors = 64;
constexpr int64_t kMoreKiB = 32 << 10;

// An array that never changes. It has three chunks of ten bytes; half of the last chunk is beyond
// the end of the array.
constexpr const char* kConstant = "constant";
constexpr uint64_t kConstantSize = 25;
std::string ConstantChunk(uint64_t chunk) { return Pattern(10, chunk + 1); }

// The shards of this array are only replaced by rename, and its shape never changes. So a chunk
// that every version has must never be missing.
constexpr uint32_t kSteadyArray = 0;

/// The number of rows of chunks in a version of an array's metadata.
uint32_t RowsOf(uint32_t array, uint64_t version) {
  if (array == kSteadyArray) return kShardRows * kPerShard;
  return (kShardRows - static_cast<uint32_t>(version / 2 % 2)) * kPerShard;
}

nlohmann::json AttributesOf(uint64_t version) {
  const std::string text(version * 1237 % 9000, static_cast<char>('a' + version % 26));
  return {{"version", version}, {"text", text}};
}

SampleArray ArrayOf(uint32_t array, uint64_t version) {
  constexpr uint64_t kShardEdge = kPerShard * kChunkEdge;
  return {.shape = {RowsOf(array, version) * kChunkEdge, kColumns * kChunkEdge},
          .shard = {kShardEdge, kShardEdge},
          .chunk = {kChunkEdge, kChunkEdge},
          .attributes = AttributesOf(version).dump()};
}

std::string ShardOf(const ChunkAt& corner, uint64_t version) {
  Chunks chunks;
  for (uint32_t slot = 0; slot < kPerShard * kPerShard; ++slot) {
    const ChunkAt at{corner.array, corner.row + slot / kPerShard, corner.column + slot % kPerShard};
    if (SizeOf(at, version) > 0) chunks[slot] = ContentOf(at, version);
  }
  return EncodeShard(kPerShard * kPerShard, chunks);
}

double Milliseconds(Time time) { return static_cast<double>(time) / 1e6; }

/// The operation of one thread on the mount that has not returned yet.
struct Watch {
  std::mutex mutex;
  std::string what;
  Time since = 0;  // 0 if there is none
  Time worst = 0;
  bool told = false;
};

/// The store with its history, the mount, and the findings.
class Trial {
 public:
  Trial(fs::path store, fs::path mountpoint, bool with_faults)
      : has_faults(with_faults),
        store_(std::move(store)),
        mountpoint_(std::move(mountpoint)),
        watches_(kReaders + 1) {
    Replace(store_ / "zarr.json", GroupJson());
    const SampleArray constant{
        .shape = {kConstantSize}, .shard = {20}, .chunk = {10}, .compressed = false};
    Replace(store_ / kConstant / "zarr.json", constant.ZarrJson());
    Replace(store_ / kConstant / "c/0",
            EncodeShard(2, {{0, ConstantChunk(0)}, {1, ConstantChunk(1)}}));
    Replace(store_ / kConstant / "c/1", EncodeShard(2, {{0, ConstantChunk(2)}}));
    for (uint32_t array = 0; array < kArrays; ++array) {
      metadata_.emplace_back(1);
      Replace(ArrayFolder(array) / "zarr.json", ArrayOf(array, 1).ZarrJson());
      for (uint32_t shard = 0; shard < kShardRows * kShardColumns; ++shard) {
        shards_.emplace_back(1);
        const ChunkAt corner = Corner(array, shard);
        Replace(ShardPath(corner), ShardOf(corner, 1));
      }
    }
  }

  // --- Places
  [[nodiscard]] static ChunkAt Corner(uint32_t array, uint32_t shard) {
    return {array, shard / kShardColumns * kPerShard, shard % kShardColumns * kPerShard};
  }
  [[nodiscard]] fs::path ArrayFolder(uint32_t array) const {
    return store_ / fmt::format("a{}", array);
  }
  [[nodiscard]] fs::path ShardPath(const ChunkAt& at) const {
    return ArrayFolder(at.array) /
           fmt::format("c/{}/{}", at.row / kPerShard, at.column / kPerShard);
  }
  [[nodiscard]] std::string Path(const ChunkAt& at, bool v2) const {
    return mountpoint_ / (v2 ? fmt::format("{}/a{}/{}.{}", at.column % 3 == 2 ? "gdal" : "v2",
                                           at.array, at.row, at.column)
                             : fmt::format("v3/a{}/c/{}/{}", at.array, at.row, at.column));
  }
  [[nodiscard]] const fs::path& mountpoint() const { return mountpoint_; }

  // --- History
  [[nodiscard]] History& shard(const ChunkAt& at) {
    const uint32_t row = at.row / kPerShard;
    return shards_[(at.array * kShardRows + row) * kShardColumns + at.column / kPerShard];
  }
  [[nodiscard]] History& metadata(uint32_t array) { return metadata_[array]; }

  [[nodiscard]] static bool Holds(const ChunkAt& at, const History::State& shard) {
    return shard.unfinished || (shard.version > 0 && SizeOf(at, shard.version) > 0);
  }
  [[nodiscard]] bool MayBeMissing(const ChunkAt& at, Time from, Time until) {
    return shard(at).Any(from, until, [&](const auto& state) { return !Holds(at, state); }) ||
           metadata(at.array).Any(from, until, [&](const History::State& state) {
             return RowsOf(at.array, state.version) <= at.row;
           });
  }
  [[nodiscard]] bool MayBeVersion(const ChunkAt& at, uint64_t version, Time from, Time until) {
    return shard(at).Any(from, until, [&](const History::State& state) {
      return !state.unfinished && state.version == version;
    });
  }
  [[nodiscard]] bool MayBeUnfinished(const ChunkAt& at, Time from, Time until) {
    return shard(at).Any(from, until, [](const auto& state) { return state.unfinished; });
  }
  [[nodiscard]] bool MayHaveChanged(const ChunkAt& at, Time from, Time until) {
    return shard(at).Changed(from, until) || metadata(at.array).Changed(from, until);
  }

  // --- Findings
  void Blend(const std::string& what) { Report("BLEND", blends, what); }
  void Wrong(const std::string& what) { Report("WRONG", wrong, what); }
  void Hang(const std::string& what) { Report("HANG", hangs, what); }
  void Absent(const std::string& what) { Report("ABSENT", absences, what); }
  /// Reads the chunks that never change, in several views, of which `netcdf` decodes them. Call
  /// before any fault.
  void ReadConstants() {
    for (const std::string view : {"v2", "gdal", "netcdf"}) {
      for (const uint64_t chunk : {0, 1, 2}) {
        const fs::path path = mountpoint_ / view / kConstant / std::to_string(chunk);
        const std::string bytes = ReadFile(path);
        if (bytes.empty() || !ConstantChunk(chunk).starts_with(bytes)) Wrong(path.string());
        constants.emplace_back(path, bytes);
      }
    }
  }
  std::vector<std::pair<std::string, std::string>> constants;  // paths, with the contents

  /// True if a fault may have caused this error. Counts such errors. `by_name`: the operation
  /// looked up a name.
  bool MayFail(int error, bool by_name) {
    if (!has_faults || error == ENOENT) return false;
    // A file must be found even if it cannot be read, unless memory has run out.
    if (by_name && error != ENOMEM) return false;
    ++faulty;
    return true;
  }

  /// Counts an error that a rewrite in place explains. `after`: the time since the rewrite ended.
  void Unfinished(Time after) {
    ++unfinished;
    Time until_now = worst_unfinished;
    while (after > until_now && !worst_unfinished.compare_exchange_weak(until_now, after)) {
    }
  }

  [[nodiscard]] Watch& watch(size_t thread) { return watches_[thread]; }
  void TellHangs() {
    for (Watch& watch : watches_) {
      const std::lock_guard lock(watch.mutex);
      if (watch.since == 0 || watch.told || Now() - watch.since < longest) continue;
      watch.told = true;
      Hang(watch.what);
    }
  }

  const bool has_faults;
  std::atomic<bool> stop = false;
  std::atomic<uint64_t> reads = 0, versions = 0, missing = 0, stale = 0, unfinished = 0, faulty = 0;
  std::atomic<uint64_t> blends = 0, wrong = 0, hangs = 0, absences = 0;
  std::atomic<Time> worst_unfinished = 0;

  struct Renamed {
    ChunkAt at;
    uint64_t version = 0;
    Time when = 0;
  };
  std::mutex renamed_mutex;
  std::optional<Renamed> renamed;  // the latest rename in the steady array
  std::vector<Time> lags;          // only for the thread of MeasureLags()

 private:
  void Report(const char* kind, std::atomic<uint64_t>& count, const std::string& what) {
    constexpr uint64_t kMaxTold = 20;
    if (++count > kMaxTold) return;
    fmt::print("{:.1f} s: {}: {}\n", static_cast<double>(Now() - begin_) / 1e9, kind, what);
    std::fflush(stdout);
  }

  const Time begin_ = Now();
  const fs::path store_;
  const fs::path mountpoint_;
  std::deque<History> shards_;
  std::deque<History> metadata_;
  std::deque<Watch> watches_;
};

// --- Writers

class Writer {
 public:
  Writer(Trial& trial, uint32_t array) : trial_(trial), array_(array), random_(array + 1) {}

  void Run() {
    while (!trial_.stop) {
      const ChunkAt corner = Trial::Corner(array_, Below(kShardRows * kShardColumns));
      const uint32_t what = array_ == kSteadyArray ? Below(85) : Below(100);
      if (what < 82) {
        ReplaceShard(corner);
      } else if (what < 86) {
        EditMetadata();
      } else if (what < 94) {
        RewriteShard(corner);
      } else {
        RemoveShard(corner);
      }
      // Some pauses are long enough for everything to be cached.
      SleepFor(Seconds(Below(20) == 0 ? 0.001 * Below(1500) : 0.001 * Below(40)));
    }
  }

 private:
  uint32_t Below(uint32_t n) { return static_cast<uint32_t>(random_() % n); }

  void ReplaceShard(const ChunkAt& corner) {
    const uint64_t version = NextVersion(corner);
    const std::string bytes = ShardOf(corner, version);
    trial_.shard(corner).Begin(version);
    Replace(trial_.ShardPath(corner), bytes);
    const Time when = trial_.shard(corner).End();
    if (array_ == kSteadyArray) {
      const std::lock_guard lock(trial_.renamed_mutex);
      trial_.renamed = {corner, version, when};
    }
  }

  void RewriteShard(const ChunkAt& corner) {
    const uint64_t version = NextVersion(corner);
    const std::string bytes = ShardOf(corner, version);
    trial_.shard(corner).Begin(version, /*in_place=*/true);
    if (trial_.has_faults && Below(2) == 0) {
      fs::resize_file(trial_.ShardPath(corner), Below(30'000));
      SleepFor(Seconds(0.001 * Below(1000)));
    }
    RewriteInPlace(trial_.ShardPath(corner), bytes);
    trial_.shard(corner).End();
  }

  void RemoveShard(const ChunkAt& corner) {
    const uint64_t version = NextVersion(corner);
    trial_.shard(corner).Begin(0);
    fs::remove(trial_.ShardPath(corner));
    trial_.shard(corner).End();
    if (Below(2) == 0) SleepFor(Seconds(0.001 * Below(1500)));
    trial_.shard(corner).Begin(version);
    Replace(trial_.ShardPath(corner), ShardOf(corner, version));
    trial_.shard(corner).End();
  }

  void EditMetadata() {
    const uint64_t version = ++metadata_version_;
    trial_.metadata(array_).Begin(version);
    Replace(trial_.ArrayFolder(array_) / "zarr.json", ArrayOf(array_, version).ZarrJson());
    trial_.metadata(array_).End();
  }

  uint64_t NextVersion(const ChunkAt& corner) {
    ++trial_.versions;
    return trial_.shard(corner).Latest().version + 1;
  }

  Trial& trial_;
  const uint32_t array_;
  uint64_t metadata_version_ = 1;
  std::mt19937 random_;
};

// --- Readers

class OpenedFile {
 public:
  OpenedFile() = default;
  explicit OpenedFile(int64_t fd) : fd_(static_cast<int>(fd)) {}
  OpenedFile(OpenedFile&& other) noexcept { std::swap(fd_, other.fd_); }
  OpenedFile& operator=(OpenedFile&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~OpenedFile() {
    if (fd_ >= 0) close(fd_);
  }
  [[nodiscard]] int get() const { return fd_; }

 private:
  int fd_ = -1;  // the descriptor, or a negative errno
};

class Reader {
 public:
  Reader(Trial& trial, unsigned number)
      : trial_(trial),
        watch_(trial.watch(number)),
        random_(1000 + number),
        buffer_(static_cast<char*>(std::aligned_alloc(kPage, kMaxPart)), &std::free) {}

  void Run() {
    while (!trial_.stop) {
      const uint32_t what = Below(100);
      if (what < 35) {
        ReadWhole(AnyChunk(), Below(2) == 0);
      } else if (what < 50) {
        Hold();
      } else if (what < 88) {
        ReadOn();
      } else if (what < 94) {
        List();
      } else if (what < 97) {
        ReadMetadata();
      } else {
        ReadConstant();
      }
    }
  }

  /// Measures how long new versions take to become visible after their rename.
  void MeasureLags() {
    while (!trial_.stop) {
      std::optional<Trial::Renamed> next;
      {
        const std::lock_guard lock(trial_.renamed_mutex);
        next.swap(trial_.renamed);
      }
      if (next) {
        const bool v2 = Below(2) == 0;
        while (!trial_.stop && !Sees(next->at, v2, next->version)) SleepFor(Seconds(0.002));
        if (!trial_.stop) trial_.lags.push_back(std::max<Time>(Now() - next->when, 0));
      }
      SleepFor(Seconds(0.002));
    }
  }

  /// True if a file is exactly the latest version, or is missing in that version. Call while
  /// nothing changes.
  bool IsSettled(const ChunkAt& at, bool v2) {
    const uint64_t version = trial_.shard(at).Latest().version;
    const bool there = !trial_.MayBeMissing(at, Now(), Now());
    const std::string path = trial_.Path(at, v2);
    const OpenedFile file = Open(path);
    if (file.get() < 0) return file.get() == -ENOENT && !there;
    std::string bytes;
    return there && Read(file, path, 0, kToTheEnd, bytes) == 0 && bytes == ContentOf(at, version);
  }

 private:
  static constexpr uint64_t kToTheEnd = ~uint64_t{0};

  struct Held {
    OpenedFile file;
    ChunkAt at;
    std::string path;
    uint64_t version = 0;
    Time opened = 0;
  };

  uint32_t Below(uint64_t n) { return static_cast<uint32_t>(random_() % n); }

  ChunkAt AnyChunk() { return {Below(kArrays), Below(kShardRows * kPerShard), Below(kColumns)}; }

  // Runs an operation on the mount, and records its time. All operations go through this function.
  // Returns the result, or the negative errno.
  template <typename Call>
  int64_t Timed(const char* what, const std::string& path, Call&& call) {
    {
      const std::lock_guard lock(watch_.mutex);
      watch_.what = fmt::format("{}: {}", path, what);
      watch_.since = Now();
    }
    const int64_t answer = call();
    const int error = errno;
    const std::lock_guard lock(watch_.mutex);
    watch_.worst = std::max(watch_.worst, Now() - watch_.since);
    watch_.since = 0;
    return answer < 0 ? -error : answer;
  }

  OpenedFile Open(const std::string& path, int flags = 0) {
    return OpenedFile(
        Timed("open", path, [&] { return open(path.c_str(), O_RDONLY | O_CLOEXEC | flags); }));
  }

  // Reads `length` bytes, or fewer at the end of the file. Returns 0 or the errno.
  int Read(const OpenedFile& file, const std::string& path, uint64_t offset, uint64_t length,
           std::string& bytes) {
    const size_t part = kPage << Below(9);
    while (bytes.size() < length) {
      const int64_t have = Timed("read", path, [&] {
        return pread(file.get(), buffer_.get(), part, static_cast<off_t>(offset + bytes.size()));
      });
      if (have < 0) return static_cast<int>(-have);
      if (have == 0) break;
      bytes.append(buffer_.get(), static_cast<size_t>(have));
    }
    if (bytes.size() > length) bytes.resize(length);
    return 0;
  }

  // Like Read(), but through a mapping of the whole file. The kernel copies the bytes, so a page
  // that cannot be read gives EFAULT instead of SIGBUS.
  int ReadMapped(const Held& held, uint64_t offset, uint64_t length, std::string& bytes) {
    const uint64_t size = SizeOf(held.at, held.version);
    void* const map = mmap(nullptr, size, PROT_READ, MAP_SHARED, held.file.get(), 0);
    if (map == MAP_FAILED) return errno;
    bytes.resize(length);
    int64_t have = 0;
    for (uint64_t done = 0; done < length; done += static_cast<uint64_t>(have)) {
      const iovec to{bytes.data() + done, length - done};
      const iovec from{static_cast<char*>(map) + offset + done, length - done};
      have = Timed("read mapped", held.path,
                   [&] { return process_vm_readv(getpid(), &to, 1, &from, 1, 0); });
      if (have <= 0) break;
    }
    munmap(map, size);
    return have < 0 ? static_cast<int>(-have) : 0;
  }

  // Checks that a change or a fault explains the error of an operation that began at `begin`.
  // `opened`: when the file was opened. `by_name`: the operation looked up a name.
  void Judge(int error, const char* what, const std::string& path, const ChunkAt& at, Time begin,
             Time opened, bool by_name) {
    const Time now = Now();
    const bool changed = trial_.MayHaveChanged(at, opened - longest, now);
    if (by_name && error == ENOENT && trial_.MayBeMissing(at, begin - longest, now)) {
      ++trial_.missing;
    } else if ((error == ESTALE || error == EFAULT) && changed) {
      ++trial_.stale;
    } else if (error == EIO && trial_.MayBeUnfinished(at, begin - longest, now)) {
      trial_.Unfinished(begin - trial_.shard(at).LastUnfinished());
    } else if (trial_.MayFail(error, by_name && !MayBeBeyond(path, at))) {
      return;
    } else if (by_name) {
      trial_.Absent(fmt::format("{}: {}: {}", path, what, std::strerror(error)));
    } else {
      trial_.Wrong(fmt::format("{}: {}: {}; version {} in the store", path, what,
                               std::strerror(error), trial_.shard(at).Latest().version));
    }
  }

  // True if the last version of the array that the mount could read may lack this row. If the array
  // cannot be read now, the row's folder in the view v3 then gives an error, which readers of Zarr
  // v3 do not take for absence.
  static bool MayBeBeyond(const std::string& path, const ChunkAt& at) {
    return path.find("/v3/") != path.npos && at.array != kSteadyArray &&
           at.row >= (kShardRows - 1) * kPerShard;
  }

  void CheckBytes(const std::string& path, const ChunkAt& at, uint64_t version, uint64_t offset,
                  std::span<const char> bytes) {
    ++trial_.reads;
    const auto difference = Compare(at, version, offset, bytes);
    if (!difference) return;
    if (difference->from) {
      trial_.Blend(fmt::format("{}: version {}, from byte {} version {}", path, version,
                               difference->offset, *difference->from));
    } else {
      trial_.Wrong(
          fmt::format("{}: version {}: wrong bytes from {}", path, version, difference->offset));
    }
  }

  // The version of `bytes`, read from the start of a file that was opened by name at `begin`.
  // Reports a version that is too old.
  std::optional<uint64_t> CheckVersion(const std::string& path, const ChunkAt& at,
                                       std::span<const char> bytes, Time begin) {
    const auto version = VersionIn(at, bytes);
    if (!version) {
      trial_.Wrong(fmt::format("{}: the first {} bytes are of no version", path, bytes.size()));
    } else if (!trial_.MayBeVersion(at, *version, begin - longest, Now())) {
      trial_.Wrong(fmt::format("{}: version {}, long after {} was written", path, *version,
                               trial_.shard(at).Latest().version));
    }
    return version;
  }

  void ReadWhole(const ChunkAt& at, bool v2) {
    const std::string path = trial_.Path(at, v2);
    const Time begin = Now();
    const OpenedFile file = Open(path, Below(6) == 0 ? O_DIRECT : 0);
    if (file.get() < 0) return Judge(-file.get(), "open", path, at, begin, begin, true);
    struct stat status {};
    if (const auto answer = Timed("stat", path, [&] { return fstat(file.get(), &status); });
        answer < 0) {
      return Judge(static_cast<int>(-answer), "stat", path, at, begin, begin, false);
    }
    std::string bytes;
    if (const int error = Read(file, path, 0, kToTheEnd, bytes); error != 0) {
      return Judge(error, "read", path, at, begin, begin, false);
    }
    const auto version = CheckVersion(path, at, bytes, begin);
    if (!version) return;
    const uint64_t size = SizeOf(at, *version);
    if (bytes.size() != size || static_cast<uint64_t>(status.st_size) != size) {
      trial_.Wrong(fmt::format("{}: version {} has {} bytes, stat says {}, read gives {}", path,
                               *version, size, status.st_size, bytes.size()));
    }
    CheckBytes(path, at, *version, 0, bytes);
  }

  void Hold() {
    Held held;
    held.at = AnyChunk();
    held.path = trial_.Path(held.at, Below(2) == 0);
    held.opened = Now();
    held.file = Open(held.path);
    if (held.file.get() < 0) {
      return Judge(-held.file.get(), "open", held.path, held.at, held.opened, held.opened, true);
    }
    std::string front;
    if (const int error = Read(held.file, held.path, 0, kHeaderBytes, front); error != 0) {
      return Judge(error, "read", held.path, held.at, held.opened, held.opened, false);
    }
    const auto version = CheckVersion(held.path, held.at, front, held.opened);
    if (!version) return;
    held.version = *version;
    held_.push_back(std::move(held));
    if (held_.size() > kHeld) held_.erase(held_.begin());
  }

  // Reads a part of a file that was opened some time ago.
  void ReadOn() {
    if (held_.empty()) return;
    const auto held = held_.begin() + Below(held_.size());
    if (Below(2) == 0) posix_fadvise(held->file.get(), 0, 0, POSIX_FADV_DONTNEED);
    const uint64_t size = SizeOf(held->at, held->version);
    const uint64_t offset = Below(3) == 0 ? 0 : Below(size);
    const uint64_t length = Below(3) == 0 ? size - offset : 1 + Below(size - offset);
    const Time begin = Now();
    std::string bytes;
    const int error = Below(4) == 0 ? ReadMapped(*held, offset, length, bytes)
                                    : Read(held->file, held->path, offset, length, bytes);
    if (error != 0) {
      Judge(error, "read on", held->path, held->at, begin, held->opened, false);
      held_.erase(held);
      return;
    }
    if (bytes.size() != length) {
      trial_.Wrong(fmt::format("{}: version {}: {} bytes from {} instead of {}", held->path,
                               held->version, bytes.size(), offset, length));
    }
    CheckBytes(held->path, held->at, held->version, offset, bytes);
  }

  // The chunk with this name in a listing. `row`: the row of the folder in the view v3; nullopt in
  // other views.
  static std::optional<ChunkAt> ParseName(const std::string& name, uint32_t array,
                                          std::optional<uint32_t> row) {
    ChunkAt at{array, row.value_or(0), 0};
    const char* from = name.data();
    const char* const end = from + name.size();
    if (!row) {
      const auto parsed = std::from_chars(from, end, at.row);
      if (parsed.ec != std::errc() || parsed.ptr == end || *parsed.ptr != '.') return std::nullopt;
      from = parsed.ptr + 1;
    }
    const auto parsed = std::from_chars(from, end, at.column);
    if (parsed.ec != std::errc() || parsed.ptr != end) return std::nullopt;
    if (at.row >= kShardRows * kPerShard || at.column >= kColumns) return std::nullopt;
    return at;
  }

  // Lists a folder with the attributes of all files, like ls -l. Half of the time, also reads the
  // files in this order.
  void List() {
    const uint32_t array = Below(kArrays);
    const bool v2 = Below(2) == 0;
    const std::optional<uint32_t> row =
        v2 ? std::nullopt : std::optional(Below(kShardRows * kPerShard));
    const std::string folder = trial_.mountpoint() / (v2 ? fmt::format("v2/a{}", array)
                                                         : fmt::format("v3/a{}/c/{}", array, *row));
    std::vector<ChunkAt> possible;
    for (uint32_t r = row.value_or(0); r < (row ? *row + 1 : kShardRows * kPerShard); ++r) {
      for (uint32_t c = 0; c < kColumns; ++c) possible.push_back({array, r, c});
    }
    const Time begin = Now();
    // A change to any chunk may explain an error.
    const auto judge = [&](int error, const char* what) {
      const Time now = Now();
      const auto any = [&](auto&& condition) { return std::ranges::any_of(possible, condition); };
      const bool reason =
          (error == ENOENT && !v2 &&
           std::ranges::all_of(
               possible,
               [&](const ChunkAt& at) { return trial_.MayBeMissing(at, begin - longest, now); })) ||
          (error == ESTALE && any([&](const ChunkAt& at) {
             return trial_.MayHaveChanged(at, begin - longest, now);
           })) ||
          (error == EIO && any([&](const ChunkAt& at) {
             return trial_.MayBeUnfinished(at, begin - longest, now);
           }));
      if (!reason && !trial_.MayFail(error, /*by_name=*/false)) {
        trial_.Absent(fmt::format("{}: {}: {}", folder, what, std::strerror(error)));
      }
    };
    DIR* opened = nullptr;
    const auto answer = Timed("opendir", folder, [&] {
      opened = opendir(folder.c_str());
      return opened == nullptr ? -1 : 0;
    });
    if (answer < 0) return judge(static_cast<int>(-answer), "opendir");
    const std::unique_ptr<DIR, int (*)(DIR*)> directory(opened, &closedir);
    std::set<std::string> names;
    std::vector<ChunkAt> files;
    for (;;) {
      const dirent* entry = nullptr;
      const auto next = Timed("readdir", folder, [&] {
        errno = 0;
        entry = readdir(directory.get());
        return entry == nullptr && errno != 0 ? -1 : 0;
      });
      if (next < 0) return judge(static_cast<int>(-next), "readdir");
      if (entry == nullptr) break;
      if (!names.insert(entry->d_name).second) {
        trial_.Wrong(fmt::format("{}: {} is listed twice", folder, entry->d_name));
      }
      if (const auto at = ParseName(entry->d_name, array, row)) files.push_back(*at);
    }
    const Time now = Now();
    for (const ChunkAt& at : possible) {
      const std::string name =
          v2 ? fmt::format("{}.{}", at.row, at.column) : fmt::format("{}", at.column);
      if (!names.contains(name) && !trial_.MayBeMissing(at, begin - longest, now)) {
        trial_.Absent(fmt::format("{}: {} is not listed", folder, name));
      }
    }
    for (const std::string& name : names) {
      if (name.starts_with('.')) continue;
      const auto at = ParseName(name, array, row);
      if (!at) {
        trial_.Wrong(fmt::format("{}: {} is listed", folder, name));
      } else {
        Stat(directory.get(), folder, name, *at);
      }
    }
    if (Below(2) == 0) return;
    for (const ChunkAt& at : files) ReadWhole(at, v2);
  }

  void Stat(DIR* directory, const std::string& folder, const std::string& name, const ChunkAt& at) {
    const std::string path = folder + "/" + name;
    const Time begin = Now();
    struct stat status {};
    const auto answer =
        Timed("stat", path, [&] { return fstatat(dirfd(directory), name.c_str(), &status, 0); });
    if (answer < 0) return Judge(static_cast<int>(-answer), "stat", path, at, begin, begin, true);
    // The size of a file that cannot be read now may be unknown. The mount then reports 1.
    const bool right =
        (trial_.has_faults && status.st_size == 1) ||
        trial_.shard(at).Any(begin - longest, Now(), [&](const History::State& state) {
          return state.unfinished ||
                 (state.version > 0 &&
                  SizeOf(at, state.version) == static_cast<uint64_t>(status.st_size));
        });
    if (!right) {
      trial_.Wrong(fmt::format("{}: {} bytes are the size of no version", path, status.st_size));
    }
  }

  void ReadMetadata() {
    const uint32_t array = Below(kArrays);
    const std::string name = Below(2) == 0 ? fmt::format("v2/a{}/.zattrs", array)
                                           : fmt::format("v3/a{}/zarr.json", array);
    const std::string path = trial_.mountpoint() / name;
    const Time begin = Now();
    const OpenedFile file = Open(path);
    std::string text;
    const int error = file.get() < 0 ? -file.get() : Read(file, path, 0, kToTheEnd, text);
    History& history = trial_.metadata(array);
    if (error != 0) {
      if (error == ESTALE && history.Changed(begin - longest, Now())) {
        ++trial_.stale;
      } else if (!trial_.MayFail(error, /*by_name=*/false)) {
        trial_.Wrong(fmt::format("{}: {}", path, std::strerror(error)));
      }
      return;
    }
    ++trial_.reads;
    const auto json = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
    const bool v3 = json.contains("attributes");
    const auto& attributes = v3 ? json["attributes"] : json;
    const uint64_t version = json.is_object() ? attributes.value("version", uint64_t{0}) : 0;
    auto wanted = AttributesOf(version);
    // The v2 view adds names of dimensions that contain the shape.
    if (!v3) wanted["_ARRAY_DIMENSIONS"] = attributes.value("_ARRAY_DIMENSIONS", nlohmann::json());
    if (attributes != wanted || (v3 && json["shape"][0] != RowsOf(array, version) * kChunkEdge)) {
      trial_.Blend(fmt::format("{}: is of no version: {:.200}", path, text));
    } else if (!history.Any(begin - longest, Now(), [&](const History::State& state) {
                 return state.version == version;
               })) {
      trial_.Wrong(fmt::format("{}: version {}, long after {} was written", path, version,
                               history.Latest().version));
    }
  }

  void ReadConstant() {
    const auto& [path, wanted] = trial_.constants[Below(trial_.constants.size())];
    const OpenedFile file = Open(path, Below(2) == 0 ? O_DIRECT : 0);
    std::string bytes;
    const bool is_open = file.get() >= 0;
    const int error = is_open ? Read(file, path, 0, kToTheEnd, bytes) : -file.get();
    if (error == 0) {
      ++trial_.reads;
      if (bytes != wanted) trial_.Wrong(path + ": other bytes than before");
    } else if (!trial_.MayFail(error, !is_open)) {
      const std::string what = fmt::format("{}: {}", path, std::strerror(error));
      is_open ? trial_.Wrong(what) : trial_.Absent(what);
    }
  }

  // True if the path leads to this version or a later one.
  bool Sees(const ChunkAt& at, bool v2, uint64_t wanted) {
    const std::string path = trial_.Path(at, v2);
    const Time begin = Now();
    const OpenedFile file = Open(path);
    std::string front;
    const int error = file.get() < 0 ? -file.get() : Read(file, path, 0, kHeaderBytes, front);
    if (error != 0) {
      Judge(error, "read", path, at, begin, begin, file.get() < 0);
      return false;
    }
    const auto version = CheckVersion(path, at, front, begin);
    return !version || *version >= wanted;
  }

  Trial& trial_;
  Watch& watch_;
  std::mt19937_64 random_;
  const std::unique_ptr<char, decltype(&std::free)> buffer_;
  std::vector<Held> held_;
};

// --- The daemon

struct Sample {
  int64_t descriptors = 0;
  int64_t kib = 0;  // resident memory
};

Sample SampleOf(pid_t pid) {
  const fs::path folder = fs::path("/proc") / std::to_string(pid);
  Sample sample;
  std::error_code error;
  sample.descriptors = std::distance(fs::directory_iterator(folder / "fd", error), {});
  const std::string status = ReadFile(folder / "status");
  if (const size_t at = status.find("VmRSS:"); at != std::string::npos) {
    sample.kib = std::atoll(status.c_str() + at + 6);
  }
  return sample;
}

template <typename T>
T Median(std::vector<T> values) {
  if (values.empty()) return {};
  const auto middle = values.begin() + static_cast<ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

/// The median of the samples between two fractions of the total time.
Sample MedianOf(const std::vector<Sample>& samples, double from, double to) {
  std::vector<int64_t> descriptors;
  std::vector<int64_t> kib;
  const auto count = static_cast<double>(samples.size());
  for (auto i = static_cast<size_t>(from * count); i < static_cast<size_t>(to * count); ++i) {
    descriptors.push_back(samples[i].descriptors);
    kib.push_back(samples[i].kib);
  }
  return {Median(std::move(descriptors)), Median(std::move(kib))};
}

int Run(double seconds, const std::string& options, bool has_faults) {
  const TemporaryFolder folder;
  std::optional<Mischief> mischief;
  if (has_faults) {
    // Readers wait while no worker runs, or while it is stopped.
    longest *= 3;
    mischief.emplace(folder.path());
  }
  Trial trial(folder / "store.zarr", folder.Folder("mnt"), has_faults);
  TestMount mount(folder / "store.zarr", options, trial.mountpoint());
  if (testing::UnitTest::GetInstance()->Failed()) return 1;
  trial.ReadConstants();

  std::vector<std::thread> threads;
  for (uint32_t array = 0; array < kArrays; ++array) {
    threads.emplace_back([&trial, array] { Writer(trial, array).Run(); });
  }
  for (unsigned number = 0; number < kReaders; ++number) {
    threads.emplace_back([&trial, number] { Reader(trial, number).Run(); });
  }
  threads.emplace_back([&trial] { Reader(trial, kReaders).MeasureLags(); });

  const pid_t worker = WorkerOf(trial.mountpoint());
  std::vector<Sample> samples;
  const Time end = Now() + static_cast<Time>(seconds * 1e9);
  while (Now() < end && trial.hangs == 0) {
    if (mischief) {
      mischief->Next(trial.mountpoint(), folder / "store.zarr");
    } else {
      samples.push_back(SampleOf(worker));
    }
    trial.TellHangs();
    if (mount.program().WaitFor(Seconds(0))) {
      trial.Wrong("the daemon ended by itself");
      break;
    }
    SleepFor(Seconds(0.2));
  }
  trial.stop = true;
  if (mischief) mischief->End();
  // Only the end of the daemon releases threads that hang.
  if (trial.hangs > 0) mount.program().Signal(SIGKILL);
  for (std::thread& thread : threads) thread.join();

  if (trial.hangs == 0) {
    Reader reader(trial, kReaders);
    const Time stopped = Now();
    for (uint32_t i = 0; i < kArrays * kShardRows * kPerShard * kColumns; ++i) {
      const ChunkAt at{i / kColumns / (kShardRows * kPerShard),
                       i / kColumns % (kShardRows * kPerShard), i % kColumns};
      for (const bool v2 : {false, true}) {
        while (!reader.IsSettled(at, v2)) {
          if (Now() - stopped > longest) {
            trial.Wrong(fmt::format("{}: is not the last version in the end", trial.Path(at, v2)));
            break;
          }
          SleepFor(Seconds(0.01));
        }
      }
    }
  }

  const double warm_up = std::max(1.0 / 3, kWarmUp / seconds);
  if (mischief) {
    fmt::print("{}\n{} operations failed because of it\n", mischief->Summary(),
               trial.faulty.load());
    if (!mischief->HasFailedCalls()) trial.Wrong("no call of a worker was made to fail");
  } else if (warm_up < 0.8) {
    const Sample warm = MedianOf(samples, warm_up, warm_up + 0.1);
    const Sample late = MedianOf(samples, 0.9, 1);
    fmt::print("the daemon, after {:.0f} s and at the end: {} and {} descriptors, {} and {} KiB\n",
               warm_up * seconds, warm.descriptors, late.descriptors, warm.kib, late.kib);
    if (late.descriptors > warm.descriptors + kMoreDescriptors) {
      trial.Wrong("the daemon's descriptors grow");
    }
    // Sanitizers keep freed memory.
    if (SanitizerFactor() == 1 && late.kib > warm.kib + kMoreKiB)
      trial.Wrong("the daemon's memory grows");
  } else {
    fmt::print("too short to tell whether the daemon grows: that takes {:.0f} s\n", kWarmUp / 0.75);
  }

  mount.Unmount();
  const bool ended_well = !testing::UnitTest::GetInstance()->Failed();

  Time worst = 0;
  for (unsigned thread = 0; thread <= kReaders; ++thread) {
    worst = std::max(worst, trial.watch(thread).worst);
  }
  const Time worst_lag = trial.lags.empty() ? 0 : std::ranges::max(trial.lags);
  if (trial.lags.empty()) trial.Wrong("no version became visible");
  fmt::print(
      "errors with a reason: {} missing, {} stale, {} of shards half written (until {:.1f} ms "
      "after)\n",
      trial.missing.load(), trial.stale.load(), trial.unfinished.load(),
      Milliseconds(trial.worst_unfinished));
  fmt::print("slowest operation: {:.1f} ms\n", Milliseconds(worst));
  fmt::print("from rename to visible, {} times: median {:.1f} ms, worst {:.1f} ms\n",
             trial.lags.size(), Milliseconds(Median(trial.lags)), Milliseconds(worst_lag));
  fmt::print(
      "{} reads of {} versions: blends {}, wrong {}, hangs {}, absences {}, worst lag {:.1f} ms\n",
      trial.reads.load(), trial.versions.load(), trial.blends.load(), trial.wrong.load(),
      trial.hangs.load(), trial.absences.load(), Milliseconds(worst_lag));
  const uint64_t bad = trial.blends + trial.wrong + trial.hangs + trial.absences;
  if (bad > 0)
    fmt::print("{}the log of the mount:\n{}", mischief ? mischief->Story() : "", mount.Log());
  return ended_well && bad == 0 ? 0 : 1;
}

}  // namespace
}  // namespace zarrfs

int main(int argc, char** argv) {
  std::vector<std::string> words(argv + 1, argv + argc);
  const double seconds = words.empty() ? 0 : std::atof(words[0].c_str());
  const bool has_faults = words.size() > 1 && words[1] == "--faults";
  if (has_faults) words.erase(words.begin() + 1);
  const bool has_options = words.size() == 3 && words[1] == "-o";
  if (seconds <= 0 || (words.size() != 1 && !has_options)) {
    std::fputs("usage: endurance_test SECONDS [--faults] [-o OPTIONS]\n", stderr);
    return 1;
  }
  if (const std::string obstacle = zarrfs::EnterOwnMountNamespace(); !obstacle.empty()) {
    std::fprintf(stderr, "endurance_test: %s\n", obstacle.c_str());
    return 1;
  }
  return zarrfs::Run(seconds, has_options ? words[2] : "", has_faults);
}
