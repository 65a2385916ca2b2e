#include "zarrcore/codec/vlen.h"

#include <utf8.h>

#include <algorithm>
#include <utility>

#include "zarrcore/base/byte_order.h"
#include "zarrcore/base/checked.h"

namespace zarrfs {
namespace {

constexpr uint64_t kNumberBytes = sizeof(uint32_t);

bool IsVlen(const CodecSpec& codec) {
  return codec.plain_name() == "vlen-utf8" || codec.plain_name() == "vlen-bytes";
}

bool IsUtf8(BytesView bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  // Text is mostly ASCII, which this loop reads eight times as fast as the library.
  const auto* const rest = std::ranges::find_if(text, [](char c) { return c < 0; });
  return utf8::is_valid(rest, text.end());
}

}  // namespace

Result<void> CheckVlen(BytesView encoded, uint64_t count, VlenItems items) {
  if (encoded.size() < kNumberBytes) {
    return Fail(ErrorCode::kDamaged, "{} bytes are too few for the number of elements",
                encoded.size());
  }
  const uint64_t found = LoadLittle<uint32_t>(encoded.data());
  if (found != count) {
    return Fail(ErrorCode::kDamaged, "the chunk says it has {} elements, {} expected", found,
                count);
  }
  BytesView rest = encoded.subspan(kNumberBytes);
  for (uint64_t i = 0; i < count; ++i) {
    if (rest.size() < kNumberBytes) {
      return Fail(ErrorCode::kDamaged, "the chunk ends before element {} of {}", i, count);
    }
    const uint64_t length = LoadLittle<uint32_t>(rest.data());
    rest = rest.subspan(kNumberBytes);
    if (length > rest.size()) {
      return Fail(ErrorCode::kDamaged, "element {} of {} has {} bytes, of which {} are there", i,
                  count, length, rest.size());
    }
    if (items == VlenItems::kText && !IsUtf8(rest.first(length))) {
      return Fail(ErrorCode::kDamaged, "element {} of {} is not UTF-8", i, count);
    }
    rest = rest.subspan(length);
  }
  if (!rest.empty()) {
    return Fail(ErrorCode::kDamaged, "{} bytes follow the last of {} elements", rest.size(), count);
  }
  return {};
}

bool VlenChain::IsOne(std::span<const CodecSpec> codecs) {
  return std::ranges::any_of(codecs, IsVlen);
}

Result<VlenChain> VlenChain::Make(std::span<const CodecSpec> codecs, const ChunkSpec& chunk) {
  const auto to_bytes = std::ranges::find_if(codecs, IsVlen);
  if (to_bytes == codecs.end()) {
    return Fail(ErrorCode::kUnsupported, "no codec for elements of variable length");
  }
  for (auto codec = codecs.begin(); codec != to_bytes; ++codec) {
    // (A transpose leaves nothing to check.)
    if (codec->name != "transpose") {
      return Fail(ErrorCode::kUnsupported, "codec '{}' before '{}' is not known", codec->name,
                  to_bytes->name);
    }
    if (const auto order = TransposeOrder(*codec, chunk.shape.size()); !order) return Fail(order);
  }
  VlenChain chain;
  chain.items_ = to_bytes->plain_name() == "vlen-utf8" ? VlenItems::kText : VlenItems::kBytes;
  const DataKind kind = chain.items_ == VlenItems::kText ? DataKind::kString : DataKind::kBytes;
  if (chunk.data_type.kind != kind) {
    return Fail(ErrorCode::kUnsupported, "codec '{}' of elements of type '{}' is not known",
                to_bytes->name, chunk.data_type.name);
  }
  const auto count = CheckedProduct(chunk.shape);
  if (!count) {
    return Fail(ErrorCode::kTooLarge, "size of a chunk of {} axes overflows", chunk.shape.size());
  }
  chain.count_ = *count;
  auto compressors = BytesPipeline::Make({to_bytes + 1, codecs.end()});
  if (!compressors) return Fail(compressors);
  chain.compressors_ = std::move(*compressors);
  return chain;
}

Result<void> VlenChain::Check(Bytes encoded) const {
  const auto bytes = compressors_.Decode(std::move(encoded), kMaxChunkBytes);
  if (!bytes) return Fail(bytes);
  return CheckVlen(*bytes, count_, items_);
}

}  // namespace zarrfs
