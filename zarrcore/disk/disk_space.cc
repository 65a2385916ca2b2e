#include "zarrcore/disk/disk_space.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <ctime>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "zarrcore/base/byte_order.h"
#include "zarrcore/base/clocks.h"
#include "zarrcore/disk/cache_names.h"
#include "zarrcore/disk/disk_entry.h"
#include "zarrcore/os/folder_names.h"
#include "zarrcore/os/read_write.h"
#include "zarrcore/os/removal.h"

namespace zarrfs {
namespace {

// How often, and at which interval, Lock() tries to lock the file "taken". Another process may hold
// the lock for longer than that while it removes files.
constexpr int kLockTries = 100;
constexpr auto kLockPause = std::chrono::milliseconds(10);
// Unfinished files older than this many seconds were left by a dead process.
constexpr int64_t kNewSeconds = 600;
// After a removal that did not free enough space, no removal is attempted for this long, in
// nanoseconds.
constexpr int64_t kPauseNs = 10'000'000'000;

// The number of groups into which files are sorted by the time since their last use. Whole groups
// are removed, the oldest first. Older groups span more time: the age doubles every eight groups.
constexpr size_t kSteps = 512;
size_t StepOf(int64_t age_s) {
  const auto age = static_cast<uint64_t>(std::max<int64_t>(age_s, 0)) + 8;
  const auto power = static_cast<size_t>(std::bit_width(age)) - 4;
  return std::min(power * 8 + static_cast<size_t>((age >> power) & 7), kSteps - 1);
}

FolderNames OpenNames(int folder, const char* name) {
  return ReadNames(
      Descriptor(openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)));
}

// Calls `each` with each name in a folder, except "." and "..".
template <typename Each>
void ForEachName(const FolderNames& names, const Each& each) {
  while (const dirent* const entry = names == nullptr ? nullptr : readdir(names.get())) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") each(entry->d_name);
  }
}

bool IsFile(int folder, const char* name, struct stat& status) {
  return fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(status.st_mode);
}

uint64_t SizeIn(const struct stat& status) {
  return DiskSpace::BlocksOf(static_cast<uint64_t>(status.st_size));
}

}  // namespace

void ForEachCacheFile(const Descriptor& folder,
                      const std::function<void(int folder, const char* name, bool is_new)>& each) {
  const FolderNames top = OpenNames(folder.get(), ".");
  ForEachName(top, [&](const char* name) {
    const bool is_new = std::string_view(name) == kNewFiles;
    if (!is_new && !IsHexadecimal(name, 2)) return;
    const FolderNames inner = OpenNames(folder.get(), name);
    ForEachName(inner, [&](const char* below) {
      if (is_new) {
        if (IsHexadecimal(below, 16)) each(dirfd(inner.get()), below, true);
        return;
      }
      if (!IsHexadecimal(below, 30)) return;
      const FolderNames files = OpenNames(dirfd(inner.get()), below);
      ForEachName(files, [&](const char* file) {
        if (ParseCacheFileName(file)) each(dirfd(files.get()), file, false);
      });
      RemoveFolder(dirfd(inner.get()), below);
    });
  });
}

Descriptor DiskSpace::Lock() const {
  Descriptor file(openat(folder_.get(), kTaken, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
  for (int tries = 0; file && flock(file.get(), LOCK_EX | LOCK_NB) != 0; ++tries) {
    if (tries == kLockTries) return {};
    std::this_thread::sleep_for(kLockPause);
  }
  return file;
}

uint64_t DiskSpace::MostFor(uint64_t taken, uint64_t bytes) const {
  struct statvfs disk = {};
  if (fstatvfs(folder_.get(), &disk) != 0) return UINT64_MAX;
  const uint64_t free = disk.f_bavail * disk.f_frsize;
  const uint64_t wanted = std::min(disk.f_blocks * disk.f_frsize / 10, kMaxFree) + bytes;
  if (free >= wanted) return UINT64_MAX;
  return taken + bytes - std::min(taken + bytes, wanted - free);
}

uint64_t DiskSpace::Reduce(uint64_t most) {
  const int64_t now = std::time(nullptr);
  std::array<uint64_t, kSteps> of_age = {};
  uint64_t total = 0;
  ForEachCacheFile(folder_, [&](int folder, const char* name, bool is_new) {
    struct stat status = {};
    if (!IsFile(folder, name, status)) return;
    if (is_new && now - status.st_mtime > kNewSeconds && RemoveFile(folder, name)) return;
    total += SizeIn(status);
    if (!is_new) of_age[StepOf(now - status.st_mtime)] += SizeIn(status);
  });
  if (total <= most) return total;
  size_t oldest = kSteps - 1;
  for (uint64_t older = of_age[oldest]; older < total - most && oldest > 0;) {
    older += of_age[--oldest];
  }
  ForEachCacheFile(folder_, [&](int folder, const char* name, bool is_new) {
    struct stat status = {};
    if (is_new || total <= most) return;
    if (!IsFile(folder, name, status)) return;
    if (StepOf(now - status.st_mtime) < oldest || !RemoveFile(folder, name)) return;
    total -= std::min(total, SizeIn(status));
  });
  return total;
}

bool DiskSpace::Take(uint64_t bytes) {
  const MutexLock lock(mutex_);
  const uint64_t blocks = BlocksOf(bytes);
  const Descriptor file = Lock();
  if (!file || blocks > capacity_) return false;
  std::array<std::byte, 8> number;
  const bool is_known = ReadAll(file, 0, number);
  uint64_t taken = is_known ? LoadLittle<uint64_t>(number.data()) : Reduce(UINT64_MAX);
  const auto most = [&] { return std::min(capacity_, MostFor(taken, blocks)); };
  bool fits = taken <= most() && blocks <= most() - taken;
  const int64_t now_ns = SteadyNowNs();
  if (!fits && now_ns >= not_before_ns_) {
    const uint64_t kept = most() - std::min(most(), most() / 8 + blocks);
    taken = Reduce(kept);
    fits = taken <= most() && blocks <= most() - taken;
    if (!fits) not_before_ns_ = now_ns + kPauseNs;
  }
  if (fits) taken += blocks;
  StoreLittle(number.data(), taken);
  return WriteAll(file, 0, number) && fits;
}

void DiskSpace::GiveBack(uint64_t bytes) {
  const MutexLock lock(mutex_);
  const Descriptor file = Lock();
  std::array<std::byte, 8> number;
  if (!file || !ReadAll(file, 0, number)) return;
  const auto taken = LoadLittle<uint64_t>(number.data());
  StoreLittle(number.data(), taken - std::min(taken, BlocksOf(bytes)));
  static_cast<void>(WriteAll(file, 0, number));
}

}  // namespace zarrfs
