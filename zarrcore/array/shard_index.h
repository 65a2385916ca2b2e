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

/// Inner chunks of one stored object: an index of more entries than this (1 GiB) is refused, and so
/// are nested shards that multiply to more. Shards may share nested ones, so that a small file
/// could have any number of chunks to look at.
inline constexpr uint64_t kMaxSlotsPerObject = uint64_t{1} << 26;

/// How the index of each shard of an array is stored.
class ShardIndexSpec {
 public:
  /// `chunks_per_shard` along each axis of the shard. kUnsupported if the codecs do not give every
  /// index the same size, are not known, or the index is beyond kMaxSlotsPerObject.
  [[nodiscard]] static Result<ShardIndexSpec> Make(std::span<const uint64_t> chunks_per_shard,
                                                   std::span<const CodecSpec> index_codecs,
                                                   bool at_end);

  [[nodiscard]] uint64_t entries() const { return entries_; }
  /// Bytes of the encoded index.
  [[nodiscard]] uint64_t encoded_size() const { return encoded_size_; }
  /// At the end of the shard ("index_location"), else at its start.
  [[nodiscard]] bool at_end() const { return at_end_; }
  [[nodiscard]] const Pipeline& pipeline() const { return pipeline_; }
  /// The index codecs are those nearly every writer uses: little-endian bytes, and perhaps a
  /// crc32c. Such an index can be decoded in pieces.
  [[nodiscard]] bool is_plain() const { return is_plain_; }
  /// What decoding an index takes at most, with the result, in bytes.
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

/// A decoded index, packed: each block of entries stores its least offset and least length, and
/// each entry the differences in as few bits as the block needs. That is 2 to 6 bytes per entry
/// instead of 16, still with random access.
class ShardIndex {
 public:
  /// Decodes an index piece by piece, so that a large one is never whole in memory.
  class Decoder;

  /// Decodes and checks the checksum, where the codecs have one. `shard_size`: bytes of the shard,
  /// which every entry is checked against when it is looked up.
  [[nodiscard]] static Result<ShardIndex> Decode(BytesView encoded, const ShardIndexSpec& spec,
                                                 uint64_t shard_size);

  /// Whether entry `i` says that the shard does not hold the chunk: both numbers 2^64 - 1.
  [[nodiscard]] bool IsMissing(uint64_t i) const {
    const ChunkRange entry = Entry(i);
    return entry.offset == kEmpty && entry.length == kEmpty;
  }

  /// nullopt for a missing chunk. kDamaged for an entry that cannot be: half empty, of no bytes
  /// (no codec chain encodes a chunk to nothing), or reaching beyond the shard.
  /// Ranges that overlap each other or the index are accepted. `i` < entries().
  [[nodiscard]] Result<std::optional<ChunkRange>> Find(uint64_t i) const;

  [[nodiscard]] uint64_t entries() const { return entries_; }
  /// (Words that were reserved and never written take none.)
  [[nodiscard]] size_t memory_bytes() const {
    return blocks_.capacity() * sizeof(Block) + words_.size() * sizeof(uint64_t);
  }

 private:
  static constexpr uint64_t kEmpty = ~uint64_t{0};
  static constexpr uint64_t kBlockEntries = 64;

  // An entry is the bits of its offset, less `offset` and without the last `shift` bits, and then
  // those of its length, less `length`. In a block with missing chunks the length is stored plus 1,
  // and 0 says missing.
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
  /// After the last: kDamaged if they were not encoded_size(), or do not decode.
  [[nodiscard]] Result<ShardIndex> Finish();

 private:
  void PackWhole(BytesView decoded);  // as many entries as there are

  const ShardIndexSpec& spec_;
  ShardIndex index_;
  Bytes rest_;  // not packed yet: less than a block, or, of an index that is not plain, all
  uint64_t taken_ = 0;
  Crc32cSum checksum_;
};

}  // namespace zarrfs
