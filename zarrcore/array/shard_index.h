// ShardIndex: where the inner chunks of one shard lie (specification of the codec
// "sharding_indexed", "Binary shard format"). Pure: bytes in, values out, no I/O.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "zarrcore/base/crc32c.h"
#include "zarrcore/base/result.h"
#include "zarrcore/codec/codec.h"

namespace zarrfs {

/// Maximum number of inner chunks of one stored object: longer indexes (1 GiB), and nested shards
/// that multiply to more, are refused. Shards may share nested ones, so a small file could contain
/// any number of chunks.
inline constexpr uint64_t kMaxSlotsPerObject = uint64_t{1} << 26;

/// The encoding of an array's shard indexes.
class ShardIndexSpec {
 public:
  /// `chunks_per_shard` along each axis of the shard. kUnsupported if the encoded size of indexes
  /// varies, a codec is unknown, or the index exceeds kMaxSlotsPerObject.
  [[nodiscard]] static Result<ShardIndexSpec> Make(std::span<const uint64_t> chunks_per_shard,
                                                   std::span<const CodecSpec> index_codecs,
                                                   bool at_end);

  [[nodiscard]] uint64_t entries() const { return entries_; }
  /// Bytes of the encoded index.
  [[nodiscard]] uint64_t encoded_size() const { return encoded_size_; }
  /// Whether it is at the end of the shard ("index_location") instead of at its start.
  [[nodiscard]] bool at_end() const { return at_end_; }
  [[nodiscard]] const Pipeline& pipeline() const { return pipeline_; }
  /// Whether the index codecs are those that nearly every writer uses: little-endian bytes, with or
  /// without crc32c. Such an index can be decoded piece by piece.
  [[nodiscard]] bool is_plain() const { return is_plain_; }
  /// Peak memory of decoding an index in bytes, including the result.
  [[nodiscard]] uint64_t MemoryToDecode() const;

 private:
  Pipeline pipeline_;
  bool is_plain_ = false;
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

/// A decoded index, packed: each block of entries stores its minimum offset and length, and each
/// entry the differences in as few bits as the block needs. Entries have random access.
class ShardIndex {
 public:
  /// Decodes an index piece by piece, so that a large encoded one is never in memory as a whole.
  class Decoder;

  /// Decodes the index and checks its checksum, if the codecs have one. `shard_size`: bytes of the
  /// shard, against which each entry is checked at lookup.
  [[nodiscard]] static Result<ShardIndex> Decode(BytesView encoded, const ShardIndexSpec& spec,
                                                 uint64_t shard_size);

  /// Whether entry `i` marks the chunk as missing: both numbers are 2^64 - 1.
  [[nodiscard]] bool IsMissing(uint64_t i) const {
    const ChunkRange entry = Entry(i);
    return entry.offset == kEmpty && entry.length == kEmpty;
  }

  /// nullopt for a missing chunk. kDamaged for an invalid entry: half empty, of no bytes (no codec
  /// chain encodes a chunk to nothing), or reaching beyond the shard. Ranges that overlap each
  /// other or the index are accepted. `i` < entries().
  [[nodiscard]] Result<std::optional<ChunkRange>> Find(uint64_t i) const;

  [[nodiscard]] uint64_t entries() const { return entries_; }
  /// Reserved words that were never written use no memory.
  [[nodiscard]] size_t memory_bytes() const {
    return blocks_.capacity() * sizeof(Block) + words_.size() * sizeof(uint64_t);
  }

 private:
  static constexpr uint64_t kEmpty = ~uint64_t{0};
  static constexpr uint64_t kBlockEntries = 64;

  // An entry has the bits of its offset, less `offset` and without the last `shift` bits, and then
  // those of its length, less `length`. In a block with missing chunks the length is stored plus 1,
  // and 0 means missing.
  struct Block {
    uint64_t offset = 0;
    uint64_t length = 0;
    uint32_t first_word = 0;
    uint8_t offset_bits = 0;
    uint8_t shift = 0;
    uint8_t length_bits = 0;
    bool has_missing = false;
  };

  [[nodiscard]] ChunkRange Entry(uint64_t i) const;
  void Pack(std::span<const ChunkRange> entries);
  [[nodiscard]] uint64_t Bits(uint64_t at, unsigned count) const;

  std::vector<Block> blocks_;
  std::vector<uint64_t> words_;
  uint64_t entries_ = 0;
  uint64_t shard_size_ = 0;
};

class ShardIndex::Decoder {
 public:
  Decoder(const ShardIndexSpec& spec, uint64_t shard_size);

  /// The next bytes.
  void Take(BytesView piece);
  /// Call after the last piece: kDamaged if the pieces were not encoded_size() bytes, or do not
  /// decode.
  [[nodiscard]] Result<ShardIndex> Finish();

 private:
  void PackWhole(BytesView decoded);  // all full blocks

  const ShardIndexSpec& spec_;
  ShardIndex index_;
  Bytes rest_;  // not yet packed: less than a block, or everything if the index is not plain
  uint64_t taken_ = 0;
  Crc32cSum checksum_;
};

}  // namespace zarrfs
