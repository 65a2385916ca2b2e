// ChunkCheck: verifies chunks against stored checksums that are left out of the chunk files in a
// view, so readers that do not support these checksums also get verified bytes. Thread-safe.
//
// A READ of a whole chunk is checked by itself. For READs of parts, ChunkSums combines the sums of
// the parts, and the READ of the last part is answered after the comparison. If sums cannot be
// combined, a chunk of up to kMaxReread bytes is read again as a whole. In slow stores, chunks that
// are fetched as a whole are also checked as a whole. Checksums of whole shards, up to kMaxShard
// bytes, are checked at the first READ of a chunk in the shard.
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
  /// Maximum size in bytes of a chunk that is read again to verify its checksums.
  static constexpr uint64_t kMaxReread = 4u << 20;
  /// Maximum size in bytes of a shard whose own checksum is checked.
  static constexpr uint64_t kMaxShard = 16u << 20;

  /// Verifies the checksums of the shard that contains the chunk, and of all enclosing shards.
  /// Fails with kDamaged if a checksum is wrong.
  [[nodiscard]] Result<void> CheckShards(const ChunkFile& file);

  /// The check of one READ. Unless End() is called, the READ counts as failed.
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

    /// Completes the check. The bytes of the READ are `head` followed by `rest`, and start at
    /// `begin`. Fails with kDamaged if these bytes complete a chunk that does not match its
    /// checksums.
    [[nodiscard]] Result<void> End(const ChunkFile& file, uint64_t begin, BytesView head,
                                   BytesView rest);

   private:
    friend class ChunkCheck;
    ChunkSums* sums_ = nullptr;  // null if no sums are combined for this READ
    ChunkSums::Key key_{};
    ChunkSums::Taken taken_;
    bool is_whole_ = false;
  };
  /// Begins the check of a READ of bytes [begin, end) of a chunk file. May check the whole chunk
  /// first.
  [[nodiscard]] Result<Reading> Begin(const ChunkFile& file, uint64_t begin, uint64_t end);

  /// Checks a whole chunk file, whose bytes are `head` followed by `rest`.
  [[nodiscard]] static Result<void> CheckAll(const ChunkFile& file, BytesView head,
                                             BytesView rest = {});

  /// True if a chunk of `size` bytes is always checked. If false, the chunk is checked only when a
  /// READ covers all its bytes.
  [[nodiscard]] static bool CanCheck(const ChunkEncoding& encoding, uint64_t size);

 private:
  // A range of bytes in one version of a stored object.
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
  static constexpr size_t kMaxKept = 1u << 20;  // memory for cached results, in bytes

  // Reads the whole chunk again, and checks all its bytes.
  Result<void> ReadAgain(const ChunkFile& file);

  ChunkSums sums_;
  // Results of earlier checks. An entry of a chunk means that the chunk was read again and matches.
  // An entry of a shard contains the mismatch, if any.
  LruCache<Key, std::optional<Error>, KeyHash> checked_{kMaxKept, 4};
};

}  // namespace zarrfs
