#include "tools/zarrctl/chunk_check.h"

#include <utility>

#include "tools/zarrctl/output.h"
#include "zarrcore/base/byte_order.h"
#include "zarrcore/codec/crc32c.h"

namespace zarrfs::ctl {
namespace {

constexpr uint64_t kMaxOverhead = 1u << 20;  // no codec makes a chunk longer than twice and this
constexpr uint64_t kChecksumBytes = 4;
constexpr uint64_t kMaxChecksummed = 1u << 30;  // a shard is read whole for its own checksum

// The crc32c in the `tail` bytes after the first `size` ones from `offset` on.
Result<void> CheckChecksum(const Object& object, uint64_t offset, uint64_t size, uint64_t tail) {
  if (tail == 0) return {};
  if (size + tail > kMaxChecksummed) {
    return Fail(ErrorCode::kTooLarge, "{} bytes are too many to check the shard's own checksum",
                size);
  }
  Bytes bytes(size + tail);
  if (auto read = object.Read(offset, bytes); !read) return read;
  for (uint64_t end = size; end < size + tail; end += kChecksumBytes) {
    const auto stored = LoadLittle<uint32_t>(bytes.data() + end);
    const uint32_t computed = Crc32c(BytesView(bytes).first(end));
    if (stored != computed) {
      return Fail(ErrorCode::kDamaged, "checksum of the shard {:#010x}, computed {:#010x}", stored,
                  computed);
    }
  }
  return {};
}

}  // namespace

ChunkCheck::ChunkCheck(NodePtr array) : array_(std::move(array)) {
  if (VlenChain::IsOne(layout().inner_codecs)) {
    auto chain = VlenChain::Make(layout().inner_codecs,
                                 {array_->array()->data_type, layout().inner_chunk_shape});
    if (chain) {
      vlen_ = std::move(*chain);
    } else {
      why_not_ = chain.error().message;
    }
  } else if (const auto& pipeline = layout().inner_pipeline; !pipeline) {
    why_not_ = pipeline.error().message;
  } else if (pipeline->decoded_size() > kMaxChunkBytes) {
    why_not_ = fmt::format("a chunk has {}", SizeText(pipeline->decoded_size()));
  }
}

Result<uint64_t> ChunkCheck::Check(const ChunkLocation& location) const {
  if (why_not_) return 0;
  if (vlen_) {
    if (location.length > kMaxChunkBytes) {
      return Fail(ErrorCode::kTooLarge, "the chunk has {} bytes, at most {} are decoded",
                  location.length, kMaxChunkBytes);
    }
  } else if (const uint64_t size = layout().inner_pipeline->decoded_size();
             location.length > 2 * size + kMaxOverhead) {
    return Fail(ErrorCode::kDamaged, "the chunk has {} bytes, though only {} decoded ones",
                location.length, size);
  }
  Bytes encoded(location.length);
  if (auto read = location.shard->object->Read(location.offset, encoded); !read) return Fail(read);
  if (vlen_) {
    if (auto checked = vlen_->Check(std::move(encoded)); !checked) return Fail(checked);
  } else if (auto decoded = layout().inner_pipeline->Decode(encoded); !decoded) {
    return Fail(decoded);
  }
  return location.length;
}

Result<void> ChunkCheck::CheckShardChecksums(const OpenShard& innermost,
                                             bool first_of_object) const {
  const auto& levels = layout().levels;
  const uint64_t tail = levels.front().trailing_checksum;
  if (first_of_object && tail > 0) {
    auto whole = CheckChecksum(*innermost.object, 0, innermost.info.size() - tail, tail);
    if (!whole) return whole;
  }
  if (levels.size() == 1) return {};
  return CheckChecksum(*innermost.object, innermost.offset, innermost.size,
                       levels.back().trailing_checksum);
}

}  // namespace zarrfs::ctl
