// ChunkSums: computes the checksums of chunks that are read part by part. Thread-safe.
//
// Each READ takes the runs of bytes that no other READ has taken, and adds their sums. Sums of
// adjacent runs are combined. The READ that adds the last run gets the sums of all bytes. At most
// kMaxChunks chunks with kMaxRuns runs each are tracked. A chunk that is evicted, or has more runs,
// is marked kSuspect in its shard. Such a chunk must be read again to verify its checksums.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "zarrcore/array/chunk_source.h"
#include "zarrcore/base/hash.h"
#include "zarrcore/base/mutex.h"
#include "zarrcore/codec/checksum.h"

namespace zarrfs {

/// What is known about the checksums of a chunk. OpenShard::checksum_notes has one value per chunk.
enum class ChecksumNote : uint8_t {
  kUnknown,
  kGood,     // the bytes match the checksums
  kSuspect,  // readers got parts of the chunk that may never be checked
  kBad,      // the bytes do not match the checksums
};

/// The checksums of one range of bytes, one for each Checksum::Kind that can be combined from
/// parts.
using Sums = std::array<uint32_t, Checksum::kCombining>;
/// For each Checksum::Kind in Sums, true if its sum is needed.
using SumKinds = std::array<bool, Checksum::kCombining>;

[[nodiscard]] Sums SumsOf(std::span<const std::byte> bytes, const SumKinds& kinds);
[[nodiscard]] Sums Combine(const Sums& first, const Sums& second, uint64_t second_length,
                           const SumKinds& kinds);

class ChunkSums {
 public:
  static constexpr size_t kMaxChunks = 1024;
  static constexpr size_t kMaxRuns = 64;

  struct Key {
    uint64_t source;
    InnerIndex chunk;
    uint64_t fingerprint;
    bool operator==(const Key&) const = default;
  };
  struct Run {
    uint64_t begin;
    uint64_t end;
  };
  struct Taken {
    std::vector<Run> runs = {};
    bool is_alone = false;  // true if no READ has taken another run of the chunk
  };

  /// Takes the runs of bytes in [begin, end) that no other READ has taken. The caller must compute
  /// their sums and call Add(), or call Release(). `location` is the location of the chunk.
  [[nodiscard]] Taken Take(const Key& key, const ChunkLocation& location, uint64_t begin,
                           uint64_t end);
  /// Releases runs from Take() that were not read, so another READ can take them.
  void Release(const Key& key, std::span<const Run> runs);
  /// Adds the sums of runs from Take(). Once the sums of all `size` bytes of the chunk are known,
  /// stops tracking the chunk and returns these sums.
  [[nodiscard]] std::optional<Sums> Add(const Key& key, std::span<const Run> runs,
                                        std::span<const Sums> sums, const SumKinds& kinds,
                                        uint64_t size);

 private:
  static constexpr size_t kSplits = 8;

  struct Part {
    uint64_t end;
    std::optional<Sums> sums;  // nullopt until the READ of this part has added them
  };
  struct Chunk {
    Key key;
    std::weak_ptr<const OpenShard> shard;
    uint64_t entry;
    std::map<uint64_t, Part> parts;  // keyed by the offset of the part's first byte
  };
  struct KeyHash {
    size_t operator()(const Key& key) const {
      return HashFields(key.source, ToNumber(key.chunk), key.fingerprint);
    }
  };
  struct Split {
    Mutex mutex;
    std::list<Chunk> order GUARDED_BY(mutex);  // the most recently read chunk is first
    std::unordered_map<Key, std::list<Chunk>::iterator, KeyHash> chunks GUARDED_BY(mutex);
  };

  Split& SplitOf(const Key& key) { return splits_[KeyHash{}(key) % kSplits]; }
  static void Evict(Split& split, std::list<Chunk>::iterator chunk) REQUIRES(split.mutex);
  static void MergeParts(Chunk& chunk, const SumKinds& kinds);

  std::array<Split, kSplits> splits_;
};

/// Returns the record of whether the checksums of a chunk were verified (a ChecksumNote), or null
/// if the shard has no such records. `entry`: the number of the chunk in the shard.
[[nodiscard]] inline std::atomic<uint8_t>* NoteOf(const OpenShard& shard, uint64_t entry) {
  return shard.checksum_notes == nullptr ? nullptr : &shard.checksum_notes[entry];
}

}  // namespace zarrfs
