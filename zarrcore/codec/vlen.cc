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
  // Most strings are ASCII. Searching for the first other byte is eight times as fast as the
  // library's validation, which then only checks the rest.
  const auto* const rest = std::ranges::find_if(text, [](char c) { return c < 0; });
  return utf8::is_valid(rest, text.end());
}

}  // namespace

namespace {

// Calls `visit` with each string of a chunk, until `visit` returns false. CheckVlen() must have
// accepted the chunk.
template <typename Visit>
bool VisitTexts(BytesView checked, Visit&& visit) {
  for (BytesView rest = checked.subspan(kNumberBytes); !rest.empty();) {
    const uint64_t length = LoadLittle<uint32_t>(rest.data());
    if (!visit(rest.subspan(kNumberBytes, length))) return false;
    rest = rest.subspan(kNumberBytes + length);
  }
  return true;
}

std::string_view AsChars(BytesView text) {
  return {reinterpret_cast<const char*>(text.data()), text.size()};
}

}  // namespace

void TextRange::Add(const TextRange& other) {
  bytes = std::max(bytes, other.bytes);
  characters = std::max(characters, other.characters);
  has_zero = has_zero || other.has_zero;
}

TextRange RangeOfText(BytesView text) {
  const std::string_view chars = AsChars(text);
  const auto is_first = [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; };
  return {.bytes = text.size(),
          .characters = static_cast<uint64_t>(std::ranges::count_if(chars, is_first)),
          .has_zero = chars.find('\0') != chars.npos};
}

DataType TextType(TextItems items, uint64_t length) {
  DataType type;
  const bool is_utf8 = items == TextItems::kUtf8;
  type.name = is_utf8 ? "utf8" : "utf32";
  type.kind = is_utf8 ? DataKind::kNullTerminatedBytes : DataKind::kFixedLengthUtf32;
  type.item_size = is_utf8 ? length : length * sizeof(uint32_t);
  return type;
}

bool StoreText(BytesView text, TextItems items, std::span<std::byte> item) {
  std::byte* to = item.data();
  const std::byte* const end = to + item.size();
  if (items == TextItems::kUtf8) {
    if (text.size() > item.size()) return false;
    to = std::ranges::copy(text, to).out;
  } else {
    const std::string_view chars = AsChars(text);
    for (auto at = chars.begin(); at != chars.end(); to += sizeof(uint32_t)) {
      if (to == end) return false;
      StoreLittle(to, static_cast<uint32_t>(utf8::unchecked::next(at)));
    }
  }
  std::fill(to, item.data() + item.size(), std::byte{0});
  return true;
}

Result<void> CheckVlen(BytesView encoded, uint64_t count, VlenItems items) {
  if (encoded.size() < kNumberBytes) {
    return Fail(ErrorCode::kDamaged, "{} bytes are too few for the number of elements",
                encoded.size());
  }
  const uint64_t found = LoadLittle<uint32_t>(encoded.data());
  if (found != count) {
    return Fail(ErrorCode::kDamaged, "the chunk states {} elements, expected {}", found, count);
  }
  BytesView rest = encoded.subspan(kNumberBytes);
  for (uint64_t i = 0; i < count; ++i) {
    if (rest.size() < kNumberBytes) {
      return Fail(ErrorCode::kDamaged, "the chunk ends before element {} of {}", i, count);
    }
    const uint64_t length = LoadLittle<uint32_t>(rest.data());
    rest = rest.subspan(kNumberBytes);
    if (length > rest.size()) {
      return Fail(ErrorCode::kDamaged, "element {} of {} has {} bytes, but only {} follow", i,
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
  bool is_transposed = false;
  for (auto codec = codecs.begin(); codec != to_bytes; ++codec) {
    // A transpose only changes the order of the strings, so it is allowed.
    if (codec->name != "transpose") {
      return Fail(ErrorCode::kUnsupported, "codec '{}' is not supported before '{}'", codec->name,
                  to_bytes->name);
    }
    const auto order = TransposeOrder(*codec, chunk.shape.size());
    if (!order) return Fail(order);
    is_transposed = is_transposed || !std::ranges::is_sorted(*order);
  }
  VlenChain chain;
  chain.is_transposed_ = is_transposed;
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

Result<void> VlenChain::CanDecodeTexts() const {
  if (items_ != VlenItems::kText) return Fail(ErrorCode::kUnsupported, "elements are not strings");
  if (is_transposed_) return Fail(ErrorCode::kUnsupported, "strings in an order other than C");
  return {};
}

Result<Bytes> VlenChain::DecodeChecked(Bytes encoded) const {
  auto bytes = compressors_.Decode(std::move(encoded), kMaxTextChunk);
  if (!bytes) return bytes;
  if (bytes->size() > kMaxTextChunk) {
    return Fail(ErrorCode::kDamaged,
                "a chunk with {} bytes of strings exceeds the limit of {} for decoding",
                bytes->size(), kMaxTextChunk);
  }
  if (const auto checked = CheckVlen(*bytes, count_, items_); !checked) return Fail(checked);
  return bytes;
}

Result<TextRange> VlenChain::RangeOfTexts(Bytes encoded) const {
  const auto bytes = DecodeChecked(std::move(encoded));
  if (!bytes) return Fail(bytes);
  TextRange range;
  VisitTexts(*bytes, [&](BytesView text) {
    range.Add(RangeOfText(text));
    return true;
  });
  return range;
}

Result<Bytes> VlenChain::DecodeTexts(Bytes encoded, TextItems items, size_t item_size) const {
  const auto bytes = DecodeChecked(std::move(encoded));
  if (!bytes) return Fail(bytes);
  Bytes out(count_ * item_size);
  auto rest = std::span(out);
  const bool fit = VisitTexts(*bytes, [&](BytesView text) {
    const auto item = rest.first(item_size);
    rest = rest.subspan(item_size);
    return StoreText(text, items, item);
  });
  if (!fit) {
    return Fail(ErrorCode::kStale, "a string is longer than {} bytes, the previous maximum",
                item_size);
  }
  return out;
}

}  // namespace zarrfs
