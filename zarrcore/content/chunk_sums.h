// ChunkSums: the checksums of chunks that are read part by part.
//
// Each READ takes the runs of bytes that no other READ has taken, and adds their sums; sums of
// adjacent runs are combined. The READ that adds the last one gets the sums of all bytes. Bounded:
// kMaxChunks chunks, of kMaxRuns runs each. A chunk that is evicted, or has more runs, is marked in
// its shard (kSuspect): it must be reread to be checked. Thread-safe.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "zarrcore/array/chunk_source.h"
#include "zarrcore/base/hash.h"
#include "zarrcore/codec/checksum.h"

namespace zarrfs {

/// Values of OpenShard::checksum_notes.
enum class ChecksumNote : uint8_t {
  kUnknown,
  kGood,     // the bytes agree with the checksums
  kSuspect,  // parts that were served may never be checked
  kBad,      // the bytes did not match
};

/// Sums of the same bytes, one for each requested Checksum::Kind that combines.
using Sums = std::array<uint32_t, Checksum::kCombining>;
/// The requested kinds.
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
    bool is_alone = false;  // no other run of the chunk is known
  };

  /// Takes the runs of [begin, end) that no READ has taken. `location`: of the chunk.
  [[nodiscard]] Taken Take(const Key& key, const ChunkLocation& location, uint64_t begin,
                           uint64_t end);
  /// Returns runs that were not read.
  void Release(const Key& key, std::span<const Run> runs);
  /// Adds the sums of taken runs. Returns the sums of all `size` bytes if these were the last runs;
  /// then the chunk is removed.
  [[nodiscard]] std::optional<Sums> Add(const Key& key, std::span<const Run> runs,
                                        std::span<const Sums> sums, const SumKinds& kinds,
                                        uint64_t size);

 private:
  static constexpr size_t kSplits = 8;

  struct Part {
    uint64_t end;
    std::optional<Sums> sums;  // nullopt until they are added
  };
  struct Chunk {
    Key key;
    std::weak_ptr<const OpenShard> shard;
    uint64_t entry;
    std::map<uint64_t, Part> parts;  // by their begin
  };
  struct KeyHash {
    size_t operator()(const Key& key) const {
      return HashFields(key.source, ToNumber(key.chunk), key.fingerprint);
    }
  };
  struct Split {
    std::mutex mutex;
    std::list<Chunk> order;  // newest first; guarded like `chunks`
    std::unordered_map<Key, std::list<Chunk>::iterator, KeyHash> chunks;
  };

  Split& SplitOf(const Key& key) { return splits_[KeyHash{}(key) % kSplits]; }
  static void Evict(Split& split, std::list<Chunk>::iterator chunk);
  static void MergeParts(Chunk& chunk, const SumKinds& kinds);

  std::array<Split, kSplits> splits_;
};

/// The note of a chunk; null if its shard keeps none.
[[nodiscard]] inline std::atomic<uint8_t>* NoteOf(const OpenShard& shard, uint64_t entry) {
  return shard.checksum_notes == nullptr ? nullptr : &shard.checksum_notes[entry];
}

}  // namespace zarrfs
