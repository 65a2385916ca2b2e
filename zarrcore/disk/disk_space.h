// DiskSpace: how much of a disk the folder of a DiskCache may use, for all processes that share it.
// The least recently used files are removed first.
//
// Files are two folders below the cache's: "ab/cdef…/NAME" (cache_names.h). Other files are neither
// counted nor removed. The sum of their sizes is in the file "taken", which is locked during
// changes. Space is reserved before a file is written, so a killed process leaves too large a
// number, which the next removal corrects. Thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>

#include "zarrcore/os/descriptor.h"

namespace zarrfs {

class DiskSpace {
 public:
  /// How much of the disk stays free for others: a tenth, or at most this.
  static constexpr uint64_t kMaxFree = 4ULL << 30;

  /// `folder` must outlive this object.
  DiskSpace(const Descriptor& folder, uint64_t capacity) : folder_(folder), capacity_(capacity) {}

  /// Reserves `bytes`, evicting if needed; false if impossible: do not write the file. Waits for
  /// the disk, but not for other processes.
  [[nodiscard]] bool Take(uint64_t bytes);
  /// A file of `bytes` was removed, or not written.
  void GiveBack(uint64_t bytes);

  /// The disk space of a file of `bytes`.
  [[nodiscard]] static uint64_t BlocksOf(uint64_t bytes) { return (bytes + 4095) / 4096 * 4096; }

 private:
  // The file "taken", locked; empty if another process holds it for long.
  [[nodiscard]] Descriptor Lock() const;
  // The limit that leaves enough free space on the disk; UINT64_MAX: none.
  [[nodiscard]] uint64_t MostFor(uint64_t taken, uint64_t bytes) const;
  // Removes files until the rest uses at most `most`. Returns the space that the rest uses.
  uint64_t Reduce(uint64_t most);

  const Descriptor& folder_;
  const uint64_t capacity_;
  std::mutex mutex_;
  int64_t not_before_ns_ = 0;  // no removal is tried before this time
};

/// Calls `each` with every file of the cache: its folder, its name there, and whether it is still
/// being written. Removes empty folders of objects.
void ForEachCacheFile(const Descriptor& folder,
                      const std::function<void(int folder, const char* name, bool is_new)>& each);

}  // namespace zarrfs
