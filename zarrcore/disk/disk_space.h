// DiskSpace: how much of a disk the folder of a DiskCache may take, for all processes that share
// it. What was used longest ago is removed first.
//
// Files are two folders below the cache's: "ab/cdef…/NAME" (cache_names.h). Nothing else that lies
// there is counted or removed. How much they take is in the file "taken", which is locked while it
// is changed; space is taken before a file is written, so that a process that is killed leaves too
// large a number, which the next removal corrects. Thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>

#include "zarrcore/os/descriptor.h"

namespace zarrfs {

class DiskSpace {
 public:
  /// Of the disk, so much stays free for others: a tenth, or this.
  static constexpr uint64_t kMaxFree = 4ULL << 30;

  /// `folder` outlives this.
  DiskSpace(const Descriptor& folder, uint64_t capacity) : folder_(folder), capacity_(capacity) {}

  /// Makes room for a file of `bytes`, and takes it. False if there is none: it is not to be
  /// written. Waits for the disk, but for no other process.
  [[nodiscard]] bool Take(uint64_t bytes);
  /// A file of `bytes` is gone, or was not written.
  void GiveBack(uint64_t bytes);

  /// What a file of `bytes` takes.
  [[nodiscard]] static uint64_t BlocksOf(uint64_t bytes) { return (bytes + 4095) / 4096 * 4096; }

 private:
  // The file "taken", locked; empty if somebody else has it for long.
  [[nodiscard]] Descriptor Lock() const;
  // Bytes to keep for the disk to have room for others; UINT64_MAX: any number.
  [[nodiscard]] uint64_t MostFor(uint64_t taken, uint64_t bytes) const;
  // Removes files until all take at most `most`. Returns what they take.
  uint64_t Reduce(uint64_t most);

  const Descriptor& folder_;
  const uint64_t capacity_;
  std::mutex mutex_;
  int64_t not_before_ns_ = 0;  // a removal that would not help again
};

/// Calls `each` with every file of the cache: its folder, its name there, and whether it is one
/// that is being written. Removes folders of objects that are empty.
void ForEachCacheFile(const Descriptor& folder,
                      const std::function<void(int folder, const char* name, bool is_new)>& each);

}  // namespace zarrfs
