// SupersededShards: versions of stored objects that are not current any more, kept for programs
// that opened files of theirs.
//
// A version stays for kGracePeriod after the last read of it, and there are never more than
// kMaxSuperseded: the longest unread go first. Keeping one keeps a descriptor open (of a file that
// may be deleted) and its index in memory. Thread-safe.
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

  /// Lets go of what has not been read for kGracePeriod. When to call it again; max() once it is
  /// empty.
  Clock::time_point Sweep(Clock::time_point now);

  /// Memory is short: lets go of all.
  void GiveUp();

  [[nodiscard]] size_t size() const;

 private:
  struct Kept {
    std::pair<uint64_t, OuterIndex> object;  // source and outer
    OpenShardPtr shard;
    Clock::time_point read;
  };
  using Order = std::list<Kept>;  // read last comes last
  // Both move what leaves to `dropped`, to be destroyed after the lock is released.
  void DropFirst(std::vector<OpenShardPtr>& dropped);

  mutable std::mutex mutex_;
  Order order_;
  std::multimap<std::pair<uint64_t, OuterIndex>, Order::iterator> by_object_;
};

}  // namespace zarrfs
