#include <algorithm>
#include <array>

#include "zarrcore/base/byte_order.h"
#include "zarrcore/base/checked.h"
#include "zarrcore/codec/configuration.h"
#include "zarrcore/codec/registry.h"

namespace zarrfs {
namespace {

// Returns the number stored in `count` bits of `packed` from bit `at` on, least significant bit
// first. `count` is at most 64.
uint64_t ReadBits(BytesView packed, uint64_t at, unsigned count) {
  uint64_t value = 0;
  for (unsigned have = 0; have < count;) {
    const auto byte = std::to_integer<uint64_t>(packed[(at + have) / 8]);
    const auto shift = static_cast<unsigned>((at + have) % 8);
    const unsigned taken = std::min(8 - shift, count - have);
    value |= (byte >> shift & ((1u << taken) - 1)) << have;
    have += taken;
  }
  return value;
}

// Stores `value` in `count` bits of `packed` from bit `at` on. These bits of `packed` must be zero.
void WriteBits(Bytes& packed, uint64_t at, unsigned count, uint64_t value) {
  for (unsigned done = 0; done < count;) {
    const auto shift = static_cast<unsigned>((at + done) % 8);
    const unsigned given = std::min(8 - shift, count - done);
    const uint64_t bits = value >> done & ((1u << given) - 1);
    packed[(at + done) / 8] |= static_cast<std::byte>(bits << shift);
    done += given;
  }
}

// Returns the number of bits per component of `type`, or 0 if the type cannot be packed. Complex
// numbers have two components.
unsigned ComponentBits(const DataType& type) {
  const FloatFormat* format = type.float_format();
  if (format == nullptr) return static_cast<unsigned>(type.integer_bits());
  const int sign = format->codes == FloatFormat::Codes::kPowersOfTwoOnly ? 0 : 1;
  return static_cast<unsigned>(sign + format->exponent_bits + format->fraction_bits);
}

enum class Padding { kNone, kFirstByte, kLastByte };
constexpr std::array<std::string_view, 3> kPaddings = {"none", "first_byte", "last_byte"};

class PackbitsCodec : public ArrayToBytesCodec {
 public:
  PackbitsCodec(Padding padding, unsigned first_bit, unsigned last_bit)
      : padding_(padding), first_bit_(first_bit), bits_(last_bit - first_bit + 1) {}

  std::optional<uint64_t> EncodedSize(const ChunkSpec& spec) const override {
    return MayLackPadding(spec) ? std::nullopt : FullSize(spec);
  }
  uint64_t MaxEncodedSize(const ChunkSpec& spec) const override {
    return FullSize(spec).value_or(0);
  }

  Result<Bytes> Decode(BytesView encoded, const ChunkSpec& spec) const override {
    const std::optional<uint64_t> size = FullSize(spec);
    if (!size) return Fail(ErrorCode::kTooLarge, "codec 'packbits': size of a chunk overflows");
    const bool lacks_padding = MayLackPadding(spec) && encoded.size() + 1 == *size;
    if (encoded.size() != *size && !lacks_padding) {
      return Fail(ErrorCode::kDamaged, "codec 'packbits': expected {} bytes, found {}", *size,
                  encoded.size());
    }
    const uint64_t components = *Components(spec);
    BytesView packed = encoded;
    if (padding_ != Padding::kNone && !lacks_padding) {
      const bool first = padding_ == Padding::kFirstByte;
      const auto stated = std::to_integer<uint64_t>(first ? encoded.front() : encoded.back());
      packed = encoded.subspan(first ? 1 : 0, encoded.size() - 1);
      const uint64_t expected = packed.size() * 8 - components * bits_;
      if (stated != expected) {
        return Fail(ErrorCode::kDamaged, "codec 'packbits': expected {} padding bits, found {}",
                    expected, stated);
      }
    }
    const size_t unit = spec.data_type.item_size / EachOf(spec.data_type);
    const bool is_signed = spec.data_type.is_signed_integer();
    Bytes decoded(components * unit);
    const std::span<std::byte> elements(decoded);
    for (uint64_t i = 0; i < components; ++i) {
      uint64_t value = ReadBits(packed, i * bits_, bits_);
      if (is_signed && (value >> (bits_ - 1)) != 0 && bits_ < 64) value |= ~uint64_t{0} << bits_;
      StoreLittle(elements.subspan(i * unit, unit), value << first_bit_);
    }
    return decoded;
  }

  Result<Bytes> Encode(BytesView decoded, const ChunkSpec& spec) const override {
    const std::optional<uint64_t> size = FullSize(spec);
    if (!size) return Fail(ErrorCode::kTooLarge, "codec 'packbits': size of a chunk overflows");
    const size_t unit = spec.data_type.item_size / EachOf(spec.data_type);
    const uint64_t components = *Components(spec);
    if (decoded.size() != components * unit) {
      return Fail(ErrorCode::kInvalidArgument, "codec 'packbits': expected {} bytes, found {}",
                  components * unit, decoded.size());
    }
    Bytes encoded(*size);
    const unsigned skipped = padding_ == Padding::kFirstByte ? 8 : 0;
    for (uint64_t i = 0; i < components; ++i) {
      const uint64_t value = LoadLittle(decoded.subspan(i * unit, unit)) >> first_bit_;
      WriteBits(encoded, skipped + i * bits_, bits_, value);
    }
    if (padding_ != Padding::kNone) {
      const auto padding = static_cast<std::byte>((*size - 1) * 8 - components * bits_);
      (padding_ == Padding::kFirstByte ? encoded.front() : encoded.back()) = padding;
    }
    return encoded;
  }

 private:
  static std::optional<uint64_t> Components(const ChunkSpec& spec) {
    return CheckedProduct(spec.shape, EachOf(spec.data_type));
  }

  // The size of an encoded chunk, including the byte with the number of padding bits.
  [[nodiscard]] std::optional<uint64_t> FullSize(const ChunkSpec& spec) const {
    const auto components = Components(spec);
    const auto bits = components ? CheckedMul(*components, bits_) : std::nullopt;
    if (!bits) return std::nullopt;
    return CeilDiv(*bits, 8) + (padding_ == Padding::kNone ? 0 : 1);
  }

  // True if the byte with the number of padding bits may be missing. zarrs omits this byte if
  // elements keep all their bits.
  [[nodiscard]] bool MayLackPadding(const ChunkSpec& spec) const {
    return padding_ != Padding::kNone &&
           bits_ == 8 * spec.data_type.item_size / EachOf(spec.data_type);
  }

  static uint64_t EachOf(const DataType& type) { return type.is_complex() ? 2 : 1; }

  const Padding padding_;
  const unsigned first_bit_;
  const unsigned bits_;  // the number of bits stored per component, 1 to 64
};

class NumcodecsPackbitsCodec : public ArrayToArrayCodec {
  // MakeNumcodecsPackbitsCodec() has checked that the product does not overflow.
  static uint64_t ElementsOf(const ChunkSpec& spec) { return *CheckedProduct(spec.shape); }
  static uint64_t EncodedSize(uint64_t elements) { return 1 + CeilDiv(elements, 8); }

 public:
  ChunkSpec EncodedSpec(const ChunkSpec& decoded) const override {
    return {CoreType("uint8"), {EncodedSize(ElementsOf(decoded))}};
  }

  Result<Bytes> Decode(BytesView encoded, const ChunkSpec& decoded) const override {
    const uint64_t elements = ElementsOf(decoded);
    const uint64_t size = EncodedSize(elements);
    if (encoded.size() != size) {
      return Fail(ErrorCode::kDamaged, "codec 'numcodecs.packbits': expected {} bytes, found {}",
                  size, encoded.size());
    }
    const auto padding = std::to_integer<uint64_t>(encoded.front());
    if (padding != (size - 1) * 8 - elements) {
      return Fail(ErrorCode::kDamaged,
                  "codec 'numcodecs.packbits': expected {} padding bits, found {}",
                  (size - 1) * 8 - elements, padding);
    }
    Bytes bools(elements);
    for (uint64_t i = 0; i < elements; ++i) {
      bools[i] = encoded[1 + i / 8] >> (7 - i % 8) & std::byte{1};
    }
    return bools;
  }

  Result<Bytes> Encode(BytesView decoded, const ChunkSpec& spec) const override {
    if (decoded.size() != ElementsOf(spec)) {
      return Fail(ErrorCode::kInvalidArgument,
                  "codec 'numcodecs.packbits': {} bytes do not match the chunk", decoded.size());
    }
    Bytes encoded(EncodedSize(decoded.size()));
    encoded[0] = static_cast<std::byte>((encoded.size() - 1) * 8 - decoded.size());
    for (size_t i = 0; i < decoded.size(); ++i) {
      if (decoded[i] != std::byte{0}) encoded[1 + i / 8] |= std::byte{0x80} >> (i % 8);
    }
    return encoded;
  }
};

}  // namespace

Result<ArrayToBytesPtr> MakePackbitsCodec(const CodecSpec& codec, const ChunkSpec& chunk) {
  const DataType& type = chunk.data_type;
  const unsigned bits = ComponentBits(type);
  if (bits == 0) {
    return Fail(ErrorCode::kUnsupported, "codec 'packbits': data type '{}' is not known",
                type.name);
  }
  const auto padding =
      ChoiceMember(codec, "padding_encoding", kPaddings, "none, first_byte or last_byte");
  if (!padding) return Fail(padding);
  const int64_t top = int64_t{bits} - 1;
  const Result<int64_t> first = IntegerOrNullMember(codec, "first_bit", 0, top, 0);
  if (!first) return Fail(first);
  const Result<int64_t> last = IntegerOrNullMember(codec, "last_bit", *first, top, top);
  if (!last) return Fail(last);
  return std::make_shared<const PackbitsCodec>(
      static_cast<Padding>(*padding), static_cast<unsigned>(*first), static_cast<unsigned>(*last));
}

Result<ArrayToArrayPtr> MakeNumcodecsPackbitsCodec(const CodecSpec& codec, const ChunkSpec& chunk) {
  if (chunk.data_type.kind != DataKind::kBool) {
    return Fail(ErrorCode::kUnsupported, "codec '{}': data type '{}' is not known", codec.name,
                chunk.data_type.name);
  }
  if (!CheckedProduct(chunk.shape)) {
    return Fail(ErrorCode::kTooLarge, "codec '{}': size of a chunk overflows", codec.name);
  }
  return std::make_shared<const NumcodecsPackbitsCodec>();
}

}  // namespace zarrfs
