// ChunkCheck: verifies served chunks against the checksums that their files omit, so readers that
// do not know these are as safe as the source's own.
//
// A READ of all bytes of a chunk is checked by itself. Sums of parts are combined (ChunkSums); the
// READ with the last part is answered after the comparison. If that is impossible, the chunk is
// read once more, up to kMaxReread. In slow stores whole chunks are checked, which are fetched as a
// whole anyway. Checksums around a shard are checked at the first READ of a chunk in it, up to
// kMaxShard. Thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "zarrcore/base/hash.h"
#include "zarrcore/base/lru_cache.h"
#include "zarrcore/base/result.h"
#include "zarrcore/codec/codec.h"
#include "zarrcore/content/chunk_file.h"
#include "zarrcore/content/chunk_sums.h"

namespace zarrfs {

class ChunkCheck {
 public:
  /// Maximum size in bytes of chunks that are reread for the check.
  static constexpr uint64_t kMaxReread = 4u << 20;
  /// Maximum size of shards that are checked against a checksum of their own.
  static constexpr uint64_t kMaxShard = 16u << 20;

  /// Verifies the checksums of the shard with the chunk, and of the shards around it. kDamaged if
  /// one is wrong.
  [[nodiscard]] Result<void> CheckShards(const ChunkFile& file);

  /// The check of one READ. Unless End() is called, the bytes count as not read.
  class Reading {
   public:
    Reading() = default;
    Reading(Reading&& other) noexcept { *this = std::move(other); }
    Reading& operator=(Reading&& other) noexcept {
      std::swap(sums_, other.sums_);
      std::swap(key_, other.key_);
      std::swap(taken_, other.taken_);
      std::swap(is_whole_, other.is_whole_);
      return *this;
    }
    ~Reading() {
      if (sums_ != nullptr) sums_->Release(key_, taken_.runs);
    }

    /// `head` and `rest`: the bytes, from the beginning of the READ. kDamaged if they complete a
    /// chunk that does not match its checksums.
    [[nodiscard]] Result<void> End(const ChunkFile& file, uint64_t begin, BytesView head,
                                   BytesView rest);

   private:
    friend class ChunkCheck;
    ChunkSums* sums_ = nullptr;  // null if no runs were taken
    ChunkSums::Key key_{};
    ChunkSums::Taken taken_;
    bool is_whole_ = false;
  };
  /// Announces a read of bytes [begin, end) of the chunk without its checksums. May check the whole
  /// chunk first.
  [[nodiscard]] Result<Reading> Begin(const ChunkFile& file, uint64_t begin, uint64_t end);

  /// Checks all bytes of the chunk without its checksums.
  [[nodiscard]] static Result<void> CheckAll(const ChunkFile& file, BytesView head,
                                             BytesView rest = {});

  /// Whether chunks of `size` bytes are checked regardless of how they are read, except for readers
  /// of a part.
  [[nodiscard]] static bool CanCheck(const ChunkEncoding& encoding, uint64_t size);

 private:
  // Bytes of a version of a stored object.
  struct Key {
    uint64_t source;
    OuterIndex outer;
    uint64_t fingerprint;
    uint64_t begin;
    uint64_t end;
    bool is_shard;
    bool operator==(const Key&) const = default;
  };
  struct KeyHash {
    size_t operator()(const Key& key) const {
      return HashFields(key.source, ToNumber(key.outer), key.fingerprint, key.begin, key.end,
                        uint64_t{key.is_shard});
    }
  };
  static constexpr size_t kBytesOfEntry = 256;
  static constexpr size_t kMaxKept = 1u << 20;  // bytes

  // Reads the chunk as a whole.
  Result<void> ReadAgain(const ChunkFile& file);

  ChunkSums sums_;
  // Chunks that were read for a check; for shards, with the error found.
  LruCache<Key, std::optional<Error>, KeyHash> checked_{kMaxKept, 4};
};

}  // namespace zarrfs
