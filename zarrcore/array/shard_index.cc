#include "zarrcore/array/shard_index.h"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "zarrcore/base/byte_order.h"
#include "zarrcore/base/checked.h"

namespace zarrfs {
namespace {

constexpr size_t kEntryBytes = 16;  // the size of a decoded entry: offset and length, little-endian

}  // namespace

Result<ShardIndexSpec> ShardIndexSpec::Make(std::span<const uint64_t> chunks_per_shard,
                                            std::span<const CodecSpec> index_codecs, bool at_end) {
  const auto entries = CheckedProduct(chunks_per_shard);
  if (!entries || *entries > kMaxSlotsPerObject) {
    return Fail(ErrorCode::kUnsupported, "a shard holds more than {} inner chunks",
                kMaxSlotsPerObject);
  }
  std::vector<uint64_t> shape(chunks_per_shard.begin(), chunks_per_shard.end());
  shape.push_back(2);
  ChunkSpec array{.data_type = {.name = "uint64",
                                .kind = DataKind::kUint,
                                .item_size = 8,
                                .document = "uint64",
                                .fields = {}},
                  .shape = std::move(shape)};
  Result<Pipeline> pipeline = Pipeline::Make(index_codecs, array);
  if (!pipeline) {
    return Fail(pipeline.error().code, "index_codecs: {}", pipeline.error().message);
  }
  if (!pipeline->encoded_size()) {
    return Fail(ErrorCode::kUnsupported,
                "index_codecs make the size of the index vary, which the specification forbids");
  }
  ShardIndexSpec spec;
  spec.entries_ = *entries;
  spec.encoded_size_ = *pipeline->encoded_size();
  spec.at_end_ = at_end;
  spec.pipeline_ = std::move(*pipeline);
  const CodecSpec little{"bytes", Json{{"endian", "little"}}};
  const std::array<CodecSpec, 2> usual{little, CodecSpec{"crc32c"}};
  spec.is_plain_ = std::ranges::equal(index_codecs, std::span(usual)) ||
                   std::ranges::equal(index_codecs, std::span(usual).first(1));
  return spec;
}

uint64_t ShardIndexSpec::MemoryToDecode() const {
  // The packed index needs at most the size of the decoded index, plus two bytes per entry: one for
  // the Blocks, and one for OpenShard::frame_notes.
  const uint64_t packed = entries_ * (kEntryBytes + 2);
  return is_plain_ ? packed : packed + pipeline_.MemoryToDecode(encoded_size_);
}

ShardIndex::Decoder::Decoder(const ShardIndexSpec& spec, uint64_t shard_size) : spec_(spec) {
  index_.shard_size_ = shard_size;
  index_.blocks_.reserve((spec.entries() + kBlockEntries - 1) / kBlockEntries);
  // Reserve the maximum size, because a reallocation would hold the index in memory twice.
  index_.words_.reserve(spec.entries() * kEntryBytes / sizeof(uint64_t));
}

void ShardIndex::Decoder::Take(BytesView piece) {
  if (!spec_.is_plain()) {
    rest_.insert(rest_.end(), piece.begin(), piece.end());
    return;
  }
  const uint64_t of_entries = spec_.entries() * kEntryBytes;
  checksum_.Add(piece.first(std::min(piece.size(), of_entries - std::min(of_entries, taken_))));
  taken_ += piece.size();
  constexpr size_t kBlockBytes = kBlockEntries * kEntryBytes;
  if (!rest_.empty()) {
    const BytesView head = piece.first(std::min(piece.size(), kBlockBytes - rest_.size()));
    rest_.insert(rest_.end(), head.begin(), head.end());
    piece = piece.subspan(head.size());
    if (rest_.size() < kBlockBytes) return;
    PackWhole(rest_);
    rest_.clear();
  }
  const size_t whole = piece.size() - piece.size() % kBlockBytes;
  PackWhole(piece.first(whole));
  rest_.assign(piece.begin() + static_cast<ptrdiff_t>(whole), piece.end());
}

void ShardIndex::Decoder::PackWhole(BytesView decoded) {
  std::array<ChunkRange, kBlockEntries> block;
  while (decoded.size() >= kEntryBytes) {
    size_t count = 0;
    for (; count < kBlockEntries && decoded.size() >= kEntryBytes; ++count) {
      block[count] = {LoadLittle<uint64_t>(decoded.data()),
                      LoadLittle<uint64_t>(decoded.data() + kEntryBytes / 2)};
      decoded = decoded.subspan(kEntryBytes);
    }
    index_.Pack({block.data(), count});
  }
}

Result<ShardIndex> ShardIndex::Decoder::Finish() {
  if (spec_.is_plain() && taken_ == spec_.encoded_size()) {
    const bool has_checksum = spec_.encoded_size() > spec_.entries() * kEntryBytes;
    if (has_checksum) {
      const auto stored = LoadLittle<uint32_t>(rest_.data() + rest_.size() - sizeof(uint32_t));
      if (stored != checksum_.value()) {
        return Fail(ErrorCode::kDamaged, "shard index: crc32c checksum 0x{:08x}, computed 0x{:08x}",
                    stored, checksum_.value());
      }
      rest_.resize(rest_.size() - sizeof(uint32_t));
    }
    PackWhole(rest_);
  } else if (spec_.is_plain()) {
    return Fail(ErrorCode::kDamaged, "shard index: {} bytes, expected {}", taken_,
                spec_.encoded_size());
  } else {
    const Result<Bytes> decoded = spec_.pipeline().Decode(std::move(rest_));
    if (!decoded) return Fail(ErrorCode::kDamaged, "shard index: {}", decoded.error().message);
    PackWhole(*decoded);
  }
  // A large index is not shrunk if more than half of its capacity is used, because the copy needs
  // memory that is not reserved. The unused pages were never written, so they occupy no memory.
  constexpr size_t kSmallWords = (1u << 20) / sizeof(uint64_t);
  const size_t half = index_.words_.capacity() / 2;
  if (half <= kSmallWords || index_.words_.size() <= half) index_.words_.shrink_to_fit();
  return std::move(index_);
}

Result<ShardIndex> ShardIndex::Decode(BytesView encoded, const ShardIndexSpec& spec,
                                      uint64_t shard_size) {
  Decoder decoder(spec, shard_size);
  decoder.Take(encoded);
  return decoder.Finish();
}

void ShardIndex::Pack(std::span<const ChunkRange> entries) {
  const auto is_missing = [](const ChunkRange& entry) {
    return (entry.offset & entry.length) == kEmpty;
  };
  ChunkRange least{kEmpty, kEmpty};
  ChunkRange most{0, 0};
  Block block;
  for (const ChunkRange& entry : entries) {
    const bool missing = is_missing(entry);
    block.has_missing |= missing;
    least.offset = std::min(least.offset, entry.offset);
    least.length = std::min(least.length, entry.length);
    most.offset = std::max(most.offset, missing ? 0 : entry.offset);
    most.length = std::max(most.length, missing ? 0 : entry.length);
  }
  const bool is_empty = least == ChunkRange{kEmpty, kEmpty};
  const uint64_t spread = is_empty ? 0 : most.length - least.length;
  if (block.has_missing && spread == kEmpty) {
    // If the lengths span all 64-bit values, no value is left to mark missing chunks, so the
    // entries are stored unchanged.
    block = {.offset_bits = 64, .length_bits = 64};
  } else if (!is_empty) {
    uint64_t offsets = 0;  // the bitwise OR of (offset - minimum) of all entries
    for (const ChunkRange& entry : entries) {
      offsets |= is_missing(entry) ? 0 : entry.offset - least.offset;
    }
    block.offset = least.offset;
    block.length = least.length;
    block.shift = static_cast<uint8_t>(offsets == 0 ? 0 : std::countr_zero(offsets));
    block.offset_bits = static_cast<uint8_t>(std::bit_width(offsets >> block.shift));
    block.length_bits = static_cast<uint8_t>(std::bit_width(spread + (block.has_missing ? 1 : 0)));
  }

  // Each block begins at a word boundary.
  const size_t bits = entries.size() * (block.offset_bits + size_t{block.length_bits});
  block.first_word = static_cast<uint32_t>(words_.size());
  words_.resize(words_.size() + (bits + 63) / 64);
  uint64_t* word = words_.data() + block.first_word;
  uint64_t filled = 0;
  unsigned used = 0;  // the number of bits used in `filled`
  const auto append = [&](uint64_t value, unsigned count) {
    filled |= value << used;
    used += count;
    if (used < 64) return;
    *word++ = filled;
    used -= 64;
    filled = used == 0 ? 0 : value >> (count - used);
  };
  for (const ChunkRange& entry : entries) {
    const bool missing = block.has_missing && is_missing(entry);
    append(missing ? 0 : (entry.offset - block.offset) >> block.shift, block.offset_bits);
    append(missing ? 0 : entry.length - block.length + (block.has_missing ? 1 : 0),
           block.length_bits);
  }
  if (used > 0) *word = filled;
  blocks_.push_back(block);
  entries_ += entries.size();
}

uint64_t ShardIndex::Bits(uint64_t at, unsigned count) const {
  if (count == 0) return 0;
  const uint64_t* word = words_.data() + at / 64;
  const unsigned shift = at % 64;
  uint64_t value = *word >> shift;
  if (shift + count > 64) value |= word[1] << (64 - shift);
  return count == 64 ? value : value & ((uint64_t{1} << count) - 1);
}

ChunkRange ShardIndex::Entry(uint64_t i) const {
  const Block& block = blocks_[i / kBlockEntries];
  const uint64_t at = uint64_t{block.first_word} * 64 +
                      (i % kBlockEntries) * (block.offset_bits + block.length_bits);
  const uint64_t length = Bits(at + block.offset_bits, block.length_bits);
  if (block.has_missing && length == 0) return {kEmpty, kEmpty};
  return {block.offset + (Bits(at, block.offset_bits) << block.shift),
          block.length + length - (block.has_missing ? 1 : 0)};
}

Result<std::optional<ChunkRange>> ShardIndex::Find(uint64_t i) const {
  const ChunkRange range = Entry(i);
  if (range.offset == kEmpty && range.length == kEmpty) return std::nullopt;
  if (range.offset == kEmpty || range.length == kEmpty) {
    return Fail(ErrorCode::kDamaged,
                "shard index entry {} is half empty: offset {:#x}, length {:#x}", i, range.offset,
                range.length);
  }
  if (range.length == 0) {
    return Fail(ErrorCode::kDamaged, "shard index entry {} has no bytes (offset {})", i,
                range.offset);
  }
  if (range.offset > shard_size_ || range.length > shard_size_ - range.offset) {
    return Fail(ErrorCode::kDamaged,
                "shard index entry {} reaches beyond the shard: offset {}, length {}, shard of {} "
                "bytes",
                i, range.offset, range.length, shard_size_);
  }
  return range;
}

}  // namespace zarrfs
