#include "zarrcore/codec/vlen.h"

#include <algorithm>
#include <utility>

#include "zarrcore/base/byte_order.h"
#include "zarrcore/base/checked.h"

namespace zarrfs {
namespace {

constexpr uint64_t kNumberBytes = sizeof(uint32_t);

std::string_view PlainName(std::string_view name) {
  constexpr std::string_view kPrefix = "numcodecs.";
  return name.starts_with(kPrefix) ? name.substr(kPrefix.size()) : name;
}

bool IsVlen(const CodecSpec& codec) {
  const std::string_view name = PlainName(codec.name);
  return name == "vlen-utf8" || name == "vlen-bytes";
}

}  // namespace

bool IsUtf8(BytesView bytes) {
  for (size_t i = 0; i < bytes.size();) {
    const auto first = std::to_integer<uint8_t>(bytes[i]);
    if (first < 0x80) {
      ++i;
      continue;
    }
    const size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
    if (first < 0xC2 || first > 0xF4 || bytes.size() - i < length) return false;
    // Of the second byte: what makes no overlong form, no surrogate and nothing beyond U+10FFFF.
    const uint8_t low = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
    const uint8_t high = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
    const auto second = std::to_integer<uint8_t>(bytes[i + 1]);
    if (second < low || second > high) return false;
    for (size_t j = i + 2; j < i + length; ++j) {
      if ((std::to_integer<uint8_t>(bytes[j]) & 0xC0) != 0x80) return false;
    }
    i += length;
  }
  return true;
}

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
    return Fail(ErrorCode::kUnsupported, "no codec for elements of a length each");
  }
  for (auto codec = codecs.begin(); codec != to_bytes; ++codec) {
    // (Of what a transpose moves there is nothing to check.)
    if (codec->name != "transpose") {
      return Fail(ErrorCode::kUnsupported, "codec '{}' before '{}' is not known", codec->name,
                  to_bytes->name);
    }
    if (const auto order = TransposeOrder(*codec, chunk.shape.size()); !order) return Fail(order);
  }
  VlenChain chain;
  chain.items_ = PlainName(to_bytes->name) == "vlen-utf8" ? VlenItems::kText : VlenItems::kBytes;
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
