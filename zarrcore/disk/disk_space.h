// DiskSpace: limits the disk space of a DiskCache's folder, for all processes that share the
// folder. Removes the least recently used files first. Thread-safe.
//
// Files are two levels below the cache's folder: "ab/cdef…/NAME" (cache_names.h). Other files are
// neither counted nor removed, except files of the cache in the folder "new". The file "taken"
// contains the sum of the files' sizes, and is locked during changes. Space is reserved before a
// file is written, so the sum may be too large after a process was killed. The next removal
// corrects the sum.
#pragma once

#include <cstdint>
#include <functional>

#include "zarrcore/base/mutex.h"
#include "zarrcore/os/descriptor.h"

namespace zarrfs {

class DiskSpace {
 public:
  /// A tenth of the disk stays free for other files, but at most this many bytes.
  static constexpr uint64_t kMaxFree = 4ULL << 30;

  /// `folder`: the cache's folder, which must outlive this object. `capacity`: in bytes.
  DiskSpace(const Descriptor& folder, uint64_t capacity) : folder_(folder), capacity_(capacity) {}

  /// Reserves space for a file of `bytes`, and evicts files if needed. Returns false if that is
  /// impossible; the file must then not be written. Waits for the disk, and up to a second for
  /// other processes.
  [[nodiscard]] bool Take(uint64_t bytes);
  /// Releases the space of a file of `bytes` that was removed or not written.
  void GiveBack(uint64_t bytes);

  /// Returns the disk space that a file of `bytes` occupies, in whole blocks of 4 KiB.
  [[nodiscard]] static uint64_t BlocksOf(uint64_t bytes) { return (bytes + 4095) / 4096 * 4096; }

 private:
  // Opens and locks the file "taken". Returns an empty descriptor if another process holds the lock
  // for too long.
  [[nodiscard]] Descriptor Lock() const;
  // Returns how many bytes the files may occupy, including a new file of `bytes`, so enough of the
  // disk stays free; UINT64_MAX if the disk has enough free space anyway. `taken`: the sum of the
  // files' sizes now.
  [[nodiscard]] uint64_t MostFor(uint64_t taken, uint64_t bytes) const;
  // Removes files until the remaining files use at most `most` bytes. Returns the number of bytes
  // that the remaining files use.
  uint64_t Reduce(uint64_t most);

  const Descriptor& folder_;
  const uint64_t capacity_;
  Mutex mutex_;
  int64_t not_before_ns_ GUARDED_BY(mutex_) = 0;  // no files are removed before this time
};

/// Calls `each` with every file of the cache: its folder, its name in the folder, and whether it is
/// still being written. Removes empty folders of objects.
void ForEachCacheFile(const Descriptor& folder,
                      const std::function<void(int folder, const char* name, bool is_new)>& each);

}  // namespace zarrfs
