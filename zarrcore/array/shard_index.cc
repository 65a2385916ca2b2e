#include "zarrcore/array/shard_index.h"

#include <utility>

#include "zarrcore/base/byte_order.h"
#include "zarrcore/base/checked.h"

namespace zarrfs {

Result<ShardIndexSpec> ShardIndexSpec::Make(std::span<const uint64_t> chunks_per_shard,
                                            std::span<const CodecSpec> index_codecs, bool at_end) {
  const auto entries = CheckedProduct(chunks_per_shard);
  if (!entries || *entries > kMaxIndexEntries) {
    return Fail(ErrorCode::kUnsupported, "a shard holds more than {} inner chunks",
                kMaxIndexEntries);
  }
  std::vector<uint64_t> shape(chunks_per_shard.begin(), chunks_per_shard.end());
  shape.push_back(2);
  ChunkSpec array{.data_type = {.name = "uint64",
                                .kind = DataKind::kUint,
                                .item_size = 8,
                                .document = "uint64"},
                  .shape = std::move(shape)};
  Result<Pipeline> pipeline = Pipeline::Make(index_codecs, array);
  if (!pipeline) {
    return Fail(pipeline.error().code, "index_codecs: {}", pipeline.error().message);
  }
  if (!pipeline->encoded_size()) {
    return Fail(ErrorCode::kUnsupported,
                "index_codecs give indexes of different sizes, which the specification forbids");
  }
  ShardIndexSpec spec;
  spec.entries_ = *entries;
  spec.encoded_size_ = *pipeline->encoded_size();
  spec.at_end_ = at_end;
  spec.pipeline_ = std::move(*pipeline);
  return spec;
}

Result<ShardIndex> ShardIndex::Decode(BytesView encoded, const ShardIndexSpec& spec,
                                      uint64_t shard_size) {
  Result<Bytes> decoded = spec.pipeline().Decode(encoded);
  if (!decoded) return Fail(ErrorCode::kDamaged, "shard index: {}", decoded.error().message);
  ShardIndex index;
  index.decoded_ = std::move(*decoded);
  index.shard_size_ = shard_size;
  return index;
}

uint64_t ShardIndex::Offset(uint64_t i) const {
  return LoadLittle<uint64_t>(decoded_.data() + 16 * i);
}

uint64_t ShardIndex::Length(uint64_t i) const {
  return LoadLittle<uint64_t>(decoded_.data() + 16 * i + 8);
}

Result<std::optional<ChunkRange>> ShardIndex::Find(uint64_t i) const {
  const ChunkRange range{Offset(i), Length(i)};
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
