// ShardIndex: where the inner chunks of one shard lie (specification of the codec
// "sharding_indexed", "Binary shard format"). Pure: bytes in, values out, no I/O.
#ifndef ZARRCORE_ARRAY_SHARD_INDEX_H_
#define ZARRCORE_ARRAY_SHARD_INDEX_H_

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "zarrcore/base/result.h"
#include "zarrcore/codec/codec.h"

namespace zarrfs {

/// An index of more entries than this (1 GiB) is refused.
inline constexpr uint64_t kMaxIndexEntries = uint64_t{1} << 26;

/// How the index of each shard of an array is stored.
class ShardIndexSpec {
 public:
  /// `chunks_per_shard` along each axis of the shard. kUnsupported if the codecs do not give every
  /// index the same size, are not known, or the index is beyond kMaxIndexEntries.
  [[nodiscard]] static Result<ShardIndexSpec> Make(std::span<const uint64_t> chunks_per_shard,
                                                   std::span<const CodecSpec> index_codecs,
                                                   bool at_end);

  [[nodiscard]] uint64_t entries() const { return entries_; }
  /// Bytes of the encoded index.
  [[nodiscard]] uint64_t encoded_size() const { return encoded_size_; }
  /// At the end of the shard ("index_location"), else at its start.
  [[nodiscard]] bool at_end() const { return at_end_; }
  [[nodiscard]] const Pipeline& pipeline() const { return pipeline_; }

 private:
  Pipeline pipeline_;
  uint64_t entries_ = 0;
  uint64_t encoded_size_ = 0;
  bool at_end_ = true;
};

/// Bytes of one inner chunk, from the start of the shard.
struct ChunkRange {
  uint64_t offset = 0;
  uint64_t length = 0;
  bool operator==(const ChunkRange&) const = default;
};

class ShardIndex {
 public:
  /// Decodes and checks the checksum, where the codecs have one. `shard_size`: bytes of the shard,
  /// which every entry is checked against when it is looked up.
  [[nodiscard]] static Result<ShardIndex> Decode(BytesView encoded, const ShardIndexSpec& spec,
                                                 uint64_t shard_size);

  /// Whether entry `i` says that the shard does not hold the chunk: both numbers 2^64 - 1.
  [[nodiscard]] bool IsMissing(uint64_t i) const {
    return Offset(i) == kEmpty && Length(i) == kEmpty;
  }

  /// nullopt for a missing chunk. kDamaged for an entry that cannot be: half empty, of no bytes
  /// (no codec chain encodes a chunk to nothing), or reaching beyond the shard.
  /// Ranges that overlap each other or the index are accepted. `i` < entries().
  [[nodiscard]] Result<std::optional<ChunkRange>> Find(uint64_t i) const;

  [[nodiscard]] uint64_t entries() const { return decoded_.size() / 16; }
  [[nodiscard]] size_t memory_bytes() const { return decoded_.capacity(); }

 private:
  static constexpr uint64_t kEmpty = ~uint64_t{0};
  [[nodiscard]] uint64_t Offset(uint64_t i) const;
  [[nodiscard]] uint64_t Length(uint64_t i) const;

  Bytes decoded_;  // offset, length of each entry, little-endian, row-major
  uint64_t shard_size_ = 0;
};

}  // namespace zarrfs

#endif  // ZARRCORE_ARRAY_SHARD_INDEX_H_
