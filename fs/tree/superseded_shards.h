// SupersededShards: keeps outdated versions of stored objects for programs that have opened their
// files.
//
// A version stays for kGracePeriod after its last read. At most kMaxSuperseded are kept; the least
// recently read are dropped first. Each version keeps a descriptor open, possibly of a deleted
// file, and its index in memory. Thread-safe.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <utility>
#include <vector>

#include "zarrcore/array/chunk_source.h"
#include "zarrcore/base/mutex.h"

namespace zarrfs {

class SupersededShards {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::seconds kGracePeriod{60};
  static constexpr size_t kMaxSuperseded = 1024;

  /// Adds a version of a stored object. `source`: ChunkSource::id(); `outer`: the number of the
  /// object.
  void Put(uint64_t source, OuterIndex outer, OpenShardPtr shard, Clock::time_point now);

  /// Returns the version with this fingerprint, or null, and records a read of it.
  [[nodiscard]] OpenShardPtr Get(uint64_t source, OuterIndex outer, uint64_t fingerprint,
                                 Clock::time_point now);

  /// Drops versions that were not read for kGracePeriod. Returns when to call Sweep() again; max()
  /// if no version is left.
  Clock::time_point Sweep(Clock::time_point now);

  /// Drops all versions. Called when memory is short.
  void Evict();

  [[nodiscard]] size_t size() const;

 private:
  struct Kept {
    std::pair<uint64_t, OuterIndex> object;  // the arguments `source` and `outer` of Put()
    OpenShardPtr shard;
    Clock::time_point read;
  };
  using Order = std::list<Kept>;  // sorted by the time of the last read
  // Drops the version that was not read for the longest time. Moves it to `dropped`, which must be
  // destroyed after unlocking.
  void DropFirst(std::vector<OpenShardPtr>& dropped) REQUIRES(mutex_);

  mutable Mutex mutex_;
  Order order_ GUARDED_BY(mutex_);
  std::multimap<std::pair<uint64_t, OuterIndex>, Order::iterator> by_object_ GUARDED_BY(mutex_);
};

}  // namespace zarrfs
