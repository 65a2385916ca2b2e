// ShardIndex: the byte ranges of the inner chunks of one shard. See the specification of the codec
// "sharding_indexed", "Binary shard format". Does no I/O.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "zarrcore/base/crc32c.h"
#include "zarrcore/base/result.h"
#include "zarrcore/codec/codec.h"

namespace zarrfs {

/// Maximum number of innermost chunks in one stored object. Larger indexes, which exceed 1 GiB, are
/// refused, as are nested shards with more chunks in total. Several index entries may refer to the
/// same nested shard, so without a limit a small file could contain any number of chunks.
inline constexpr uint64_t kMaxSlotsPerObject = uint64_t{1} << 26;

/// The encoding of an array's shard indexes.
class ShardIndexSpec {
 public:
  /// `chunks_per_shard`: the number of chunks along each axis of the shard. Fails with kUnsupported
  /// if the encoded size of indexes varies, a codec is unknown, or the index has more than
  /// kMaxSlotsPerObject entries.
  [[nodiscard]] static Result<ShardIndexSpec> Make(std::span<const uint64_t> chunks_per_shard,
                                                   std::span<const CodecSpec> index_codecs,
                                                   bool at_end);

  [[nodiscard]] uint64_t entries() const { return entries_; }
  /// The size of the encoded index in bytes.
  [[nodiscard]] uint64_t encoded_size() const { return encoded_size_; }
  /// True if the index is at the end of the shard, false if it is at the start ("index_location").
  [[nodiscard]] bool at_end() const { return at_end_; }
  [[nodiscard]] const Pipeline& pipeline() const { return pipeline_; }
  /// True if the index codecs are little-endian bytes, with or without crc32c. Nearly every writer
  /// uses these codecs. Such an index can be decoded piece by piece.
  [[nodiscard]] bool is_plain() const { return is_plain_; }
  /// Peak memory for decoding an index, in bytes, including the result.
  [[nodiscard]] uint64_t MemoryToDecode() const;

 private:
  Pipeline pipeline_;
  bool is_plain_ = false;
  uint64_t entries_ = 0;
  uint64_t encoded_size_ = 0;
  bool at_end_ = true;
};

/// The byte range of one inner chunk, relative to the start of the shard.
struct ChunkRange {
  uint64_t offset = 0;
  uint64_t length = 0;
  bool operator==(const ChunkRange&) const = default;
};

/// A decoded shard index, packed into blocks of entries. Each block stores its minimum offset and
/// its minimum length. Each entry stores its differences from these minimums, in as few bits as the
/// block needs. Any entry can be read without decoding others.
class ShardIndex {
 public:
  /// Decodes an index piece by piece, so a large encoded index is never in memory as a whole.
  class Decoder;

  /// Decodes an index, and verifies its checksum if the index codecs include one. Entries are not
  /// checked here; Find() checks them against `shard_size`, the size of the shard in bytes.
  [[nodiscard]] static Result<ShardIndex> Decode(BytesView encoded, const ShardIndexSpec& spec,
                                                 uint64_t shard_size);

  /// True if entry `i` marks its chunk as missing: offset and length are 2^64 - 1.
  [[nodiscard]] bool IsMissing(uint64_t i) const {
    const ChunkRange entry = Entry(i);
    return entry.offset == kEmpty && entry.length == kEmpty;
  }

  /// Returns the byte range of chunk `i`, or nullopt if the chunk is missing. `i` must be below
  /// entries(). Fails with kDamaged if only the offset or only the length of the entry marks a
  /// missing chunk, if the length is 0 (no codec chain encodes a chunk to 0 bytes), or if the range
  /// extends beyond the end of the shard. Ranges that overlap each other or the index are accepted.
  [[nodiscard]] Result<std::optional<ChunkRange>> Find(uint64_t i) const;

  [[nodiscard]] uint64_t entries() const { return entries_; }
  /// Memory used by the index, in bytes. Reserved words that were never written occupy no physical
  /// memory and are not counted.
  [[nodiscard]] size_t memory_bytes() const {
    return blocks_.capacity() * sizeof(Block) + words_.size() * sizeof(uint64_t);
  }

 private:
  static constexpr uint64_t kEmpty = ~uint64_t{0};
  static constexpr uint64_t kBlockEntries = 64;

  // The parameters of a block of packed entries. An entry is (its offset - `offset`) >> `shift` in
  // `offset_bits` bits, followed by its length - `length` in `length_bits` bits. In a block with
  // missing chunks, stored lengths are one higher, and 0 marks a missing chunk.
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
  /// `spec` must outlive this object. `shard_size`: the size of the shard in bytes.
  Decoder(const ShardIndexSpec& spec, uint64_t shard_size);

  /// Decodes the next piece of the index.
  void Take(BytesView piece);
  /// Returns the index. Call after the last piece. Fails with kDamaged if the total size of the
  /// pieces is not encoded_size(), or if they cannot be decoded.
  [[nodiscard]] Result<ShardIndex> Finish();

 private:
  void PackWhole(BytesView decoded);  // packs decoded entries; only the last block may be partial

  const ShardIndexSpec& spec_;
  ShardIndex index_;
  Bytes rest_;  // bytes not packed yet: less than a block, or the whole index unless is_plain()
  uint64_t taken_ = 0;
  Crc32cSum checksum_;
};

}  // namespace zarrfs
