#include "zarrcore/codec/packbits.h"

#include <algorithm>

#include "zarrcore/base/checked.h"
#include "zarrcore/codec/configuration.h"
#include "zarrcore/metadata/float_format.h"

namespace zarrfs {
namespace {

// Bits `at` to `at + count - 1` of `packed`, least significant first; at most 64.
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

// The inverse, into bits that are zero.
void WriteBits(Bytes& packed, uint64_t at, unsigned count, uint64_t value) {
  for (unsigned done = 0; done < count;) {
    const auto shift = static_cast<unsigned>((at + done) % 8);
    const unsigned given = std::min(8 - shift, count - done);
    const uint64_t bits = value >> done & ((1u << given) - 1);
    packed[(at + done) / 8] |= static_cast<std::byte>(bits << shift);
    done += given;
  }
}

uint64_t LoadComponent(const std::byte* from, size_t size) {
  uint64_t value = 0;
  for (size_t i = size; i-- > 0;) value = value << 8 | std::to_integer<uint64_t>(from[i]);
  return value;
}

void StoreComponent(std::byte* to, size_t size, uint64_t value) {
  for (size_t i = 0; i < size; ++i) to[i] = static_cast<std::byte>(value >> (8 * i));
}

bool IsSigned(const DataType& type) {
  return type.kind == DataKind::kInt || type.kind == DataKind::kNarrowInt ||
         type.kind == DataKind::kDatetime || type.kind == DataKind::kTimedelta;
}

// The number of significant bits of a component; nullopt for a type that is not packed.
std::optional<unsigned> ComponentBits(const DataType& type) {
  switch (type.kind) {
    case DataKind::kBool:
      return 1;
    case DataKind::kInt:
    case DataKind::kUint:
    case DataKind::kFloat:
    case DataKind::kComplex:
    case DataKind::kDatetime:
    case DataKind::kTimedelta:
      return static_cast<unsigned>(type.byte_order_unit() * 8);
    case DataKind::kNarrowInt:
    case DataKind::kNarrowUint:
      return type.name.ends_with('2') ? 2 : 4;
    case DataKind::kNarrowFloat:
    case DataKind::kNarrowComplex: {
      constexpr std::string_view kTwo = "complex_";
      std::string_view name = type.name;
      if (name.starts_with(kTwo)) name.remove_prefix(kTwo.size());
      const FloatFormat* format = FindFloatFormat(name);
      if (format == nullptr) return std::nullopt;
      const int sign = format->codes == FloatFormat::Codes::kPowersOfTwoOnly ? 0 : 1;
      return static_cast<unsigned>(sign + format->exponent_bits + format->fraction_bits);
    }
    default:
      return std::nullopt;
  }
}

enum class Padding { kNone, kFirstByte, kLastByte };

class PackbitsCodec : public ArrayToBytesCodec {
 public:
  PackbitsCodec(Padding padding, unsigned first_bit, unsigned last_bit)
      : padding_(padding), first_bit_(first_bit), bits_(last_bit - first_bit + 1) {}

  std::optional<uint64_t> EncodedSize(const ChunkSpec& spec) const override {
    const std::optional<uint64_t> components = Components(spec);
    const std::optional<uint64_t> bits = components ? CheckedMul(*components, bits_) : std::nullopt;
    if (!bits) return std::nullopt;
    return CeilDiv(*bits, 8) + (padding_ == Padding::kNone ? 0 : 1);
  }

  Result<Bytes> Decode(BytesView encoded, const ChunkSpec& spec) const override {
    const std::optional<uint64_t> size = EncodedSize(spec);
    if (!size) return Fail(ErrorCode::kTooLarge, "codec 'packbits': size of a chunk overflows");
    if (encoded.size() != *size) {
      return Fail(ErrorCode::kDamaged, "codec 'packbits': expected {} bytes, found {}", *size,
                  encoded.size());
    }
    const uint64_t components = *Components(spec);
    BytesView packed = encoded;
    if (padding_ != Padding::kNone) {
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
    const bool is_signed = IsSigned(spec.data_type);
    Bytes decoded(components * unit);
    for (uint64_t i = 0; i < components; ++i) {
      uint64_t value = ReadBits(packed, i * bits_, bits_);
      if (is_signed && (value >> (bits_ - 1)) != 0 && bits_ < 64) value |= ~uint64_t{0} << bits_;
      StoreComponent(decoded.data() + i * unit, unit, value << first_bit_);
    }
    return decoded;
  }

  Result<Bytes> Encode(BytesView decoded, const ChunkSpec& spec) const override {
    const std::optional<uint64_t> size = EncodedSize(spec);
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
      const uint64_t value = LoadComponent(decoded.data() + i * unit, unit) >> first_bit_;
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
    const std::optional<uint64_t> elements = CheckedProduct(spec.shape);
    return elements ? CheckedMul(*elements, EachOf(spec.data_type)) : std::nullopt;
  }

  static uint64_t EachOf(const DataType& type) {
    return type.kind == DataKind::kComplex || type.kind == DataKind::kNarrowComplex ? 2 : 1;
  }

  const Padding padding_;
  const unsigned first_bit_;
  const unsigned bits_;  // of a component; 1 to 64
};

class NumcodecsPackbitsCodec : public ArrayToArrayCodec {
 public:
  explicit NumcodecsPackbitsCodec(DataType bytes) : bytes_(std::move(bytes)) {}

  ChunkSpec EncodedSpec(const ChunkSpec& decoded) const override {
    // The factory has checked that it does not overflow.
    return {bytes_, {1 + CeilDiv(CheckedProduct(decoded.shape).value_or(0), 8)}};
  }

  Result<Bytes> Decode(BytesView encoded, const ChunkSpec& decoded) const override {
    const uint64_t elements = CheckedProduct(decoded.shape).value_or(0);
    const uint64_t size = EncodedSpec(decoded).shape[0];
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
    if (decoded.size() != CheckedProduct(spec.shape).value_or(0)) {
      return Fail(ErrorCode::kInvalidArgument,
                  "codec 'numcodecs.packbits': {} bytes are not the chunk", decoded.size());
    }
    Bytes encoded(EncodedSpec(spec).shape[0]);
    encoded[0] = static_cast<std::byte>((encoded.size() - 1) * 8 - decoded.size());
    for (size_t i = 0; i < decoded.size(); ++i) {
      if (decoded[i] != std::byte{0}) encoded[1 + i / 8] |= std::byte{0x80} >> (i % 8);
    }
    return encoded;
  }

 private:
  const DataType bytes_;
};

Result<Padding> PaddingMember(const CodecSpec& codec) {
  const Result<std::string> text = StringMember(codec, "padding_encoding", "none");
  if (!text) return Fail(text);
  if (*text == "none") return Padding::kNone;
  if (*text == "first_byte") return Padding::kFirstByte;
  if (*text == "last_byte") return Padding::kLastByte;
  return WrongMember(codec, "padding_encoding", "none, first_byte or last_byte");
}

// Like IntegerMember(), but null means `otherwise`, too.
Result<int64_t> BitMember(const CodecSpec& codec, std::string_view member, int64_t minimum,
                          int64_t maximum, int64_t otherwise) {
  const Json* value = FindMember(codec, member);
  if (value != nullptr && value->is_null()) return otherwise;
  return IntegerMember(codec, member, minimum, maximum, otherwise);
}

}  // namespace

Result<std::shared_ptr<const ArrayToBytesCodec>> MakePackbitsCodec(const CodecSpec& codec,
                                                                   const ChunkSpec& chunk) {
  const DataType& type = chunk.data_type;
  const std::optional<unsigned> bits = ComponentBits(type);
  if (!bits) {
    return Fail(ErrorCode::kUnsupported, "codec 'packbits': data type '{}' is not known",
                type.name);
  }
  const Result<Padding> padding = PaddingMember(codec);
  if (!padding) return Fail(padding);
  const int64_t top = int64_t{*bits} - 1;
  const Result<int64_t> first = BitMember(codec, "first_bit", 0, top, 0);
  if (!first) return Fail(first);
  const Result<int64_t> last = BitMember(codec, "last_bit", *first, top, top);
  if (!last) return Fail(last);
  return std::make_shared<const PackbitsCodec>(*padding, static_cast<unsigned>(*first),
                                               static_cast<unsigned>(*last));
}

Result<std::shared_ptr<const ArrayToArrayCodec>> MakeNumcodecsPackbitsCodec(
    const CodecSpec& codec, const ChunkSpec& chunk) {
  if (chunk.data_type.kind != DataKind::kBool) {
    return Fail(ErrorCode::kUnsupported, "codec '{}': data type '{}' is not known", codec.name,
                chunk.data_type.name);
  }
  if (!CheckedProduct(chunk.shape)) {
    return Fail(ErrorCode::kTooLarge, "codec '{}': size of a chunk overflows", codec.name);
  }
  Result<DataType> bytes = ParseDataType("uint8", codec.name);
  if (!bytes) return Fail(bytes);
  return std::make_shared<const NumcodecsPackbitsCodec>(std::move(*bytes));
}

}  // namespace zarrfs
