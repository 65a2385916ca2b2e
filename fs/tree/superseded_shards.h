// SupersededShards: outdated versions of stored objects, kept for programs that have opened their
// files.
//
// A version stays for kGracePeriod after its last read, with at most kMaxSuperseded in total: the
// least recently read go first. Each one keeps a descriptor open (perhaps of a deleted file) and
// its index in memory. Thread-safe.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "zarrcore/array/chunk_source.h"

namespace zarrfs {

class SupersededShards {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::seconds kGracePeriod{60};
  static constexpr size_t kMaxSuperseded = 1024;

  /// `source`: ChunkSource::id(); `outer`: the stored object.
  void Put(uint64_t source, OuterIndex outer, OpenShardPtr shard, Clock::time_point now);

  /// The version with this fingerprint, or null; counts as read now.
  [[nodiscard]] OpenShardPtr Get(uint64_t source, OuterIndex outer, uint64_t fingerprint,
                                 Clock::time_point now);

  /// Drops versions not read for kGracePeriod. Returns when to call it again; max() once it is
  /// empty.
  Clock::time_point Sweep(Clock::time_point now);

  /// Memory is short: drops all versions.
  void GiveUp();

  [[nodiscard]] size_t size() const;

 private:
  struct Kept {
    std::pair<uint64_t, OuterIndex> object;  // source and outer
    OpenShardPtr shard;
    Clock::time_point read;
  };
  using Order = std::list<Kept>;  // read last comes last
  // Both move removed entries to `dropped`, to be destroyed after unlocking.
  void DropFirst(std::vector<OpenShardPtr>& dropped);

  mutable std::mutex mutex_;
  Order order_;
  std::multimap<std::pair<uint64_t, OuterIndex>, Order::iterator> by_object_;
};

}  // namespace zarrfs
