#include "zarrcore/codec/scale_offset.h"

#include <utility>

#include "zarrcore/codec/configuration.h"
#include "zarrcore/codec/convert.h"
#include "zarrcore/codec/stored_as.h"

namespace zarrfs {
namespace {

template <typename T>
T Undo(T stored, T scale, T offset) {
  if constexpr (std::is_same_v<T, Half>) {
    // After each step, as a calculation in float16 does.
    const Half quotient = Half::From(stored.ToDouble() / scale.ToDouble());
    return Half::From(quotient.ToDouble() + offset.ToDouble());
  } else if constexpr (std::is_floating_point_v<T>) {
    const T quotient = stored / scale;
    return quotient + offset;
  } else {
    using Bits = BitsOf<sizeof(T)>;
    T quotient;
    if (std::is_signed_v<T> && scale == static_cast<T>(-1)) {
      quotient = static_cast<T>(Bits{0} - static_cast<Bits>(stored));  // the least has no negative
    } else {
      quotient = static_cast<T>(stored / scale);
      const bool down = stored % scale != 0 && (stored < T{0}) != (scale < T{0});
      if (down) quotient = static_cast<T>(quotient - 1);
    }
    return static_cast<T>(static_cast<Bits>(quotient) + static_cast<Bits>(offset));
  }
}

template <typename T>
Bytes UndoAll(BytesView stored, T scale, T offset) {
  Bytes decoded(stored.size());
  for (size_t at = 0; at < stored.size(); at += sizeof(T)) {
    StoreElement(decoded.data() + at, Undo(LoadElement<T>(stored.data() + at), scale, offset));
  }
  return decoded;
}

class ScaleOffsetCodec : public StoredAsCodec {
 public:
  /// `scale` and `offset` are elements of `type`.
  ScaleOffsetCodec(std::string name, DataType type, FillBytes scale, FillBytes offset)
      : StoredAsCodec(std::move(name), std::move(type)),
        scale_(std::move(scale)),
        offset_(std::move(offset)) {}

 private:
  Result<Bytes> DecodeElements(BytesView encoded, const DataType& type) const override {
    return WithElementType(type, [&]<typename T>(std::type_identity<T>) -> Bytes {
      if constexpr (std::is_same_v<T, bool>) {
        return {};  // never made for bool
      } else {
        return UndoAll(encoded, LoadElement<T>(scale_.data()), LoadElement<T>(offset_.data()));
      }
    });
  }

  const FillBytes scale_;
  const FillBytes offset_;
};

class FixedScaleOffsetCodec : public StoredAsCodec {
 public:
  FixedScaleOffsetCodec(std::string name, DataType stored, DataType calculated, double scale,
                        double offset)
      : StoredAsCodec(std::move(name), std::move(stored)),
        calculated_(std::move(calculated)),
        scale_(scale),
        offset_(offset) {}

 private:
  Result<Bytes> DecodeElements(BytesView encoded, const DataType& type) const override {
    const uint64_t elements = encoded.size() / stored().item_size;
    if (elements > kMaxChunkBytes / calculated_.item_size) {
      return Fail(ErrorCode::kTooLarge, "codec '{}': {} elements to calculate with in {}", name(),
                  elements, calculated_.name);
    }
    Result<Bytes> floats = ConvertElements(encoded, stored(), calculated_, Conversion());
    if (!floats) return floats;
    const Bytes decoded = WithElementType(calculated_, [&]<typename T>(std::type_identity<T>) {
      if constexpr (std::is_same_v<T, Half>) {
        return UndoAll(*floats, Half::From(scale_), Half::From(offset_));
      } else if constexpr (std::is_floating_point_v<T>) {
        return UndoAll(*floats, static_cast<T>(scale_), static_cast<T>(offset_));
      } else {
        return Bytes();  // calculated_ is a float
      }
    });
    return ConvertElements(decoded, calculated_, type, Conversion());
  }

  const DataType calculated_;
  const double scale_;
  const double offset_;
};

Result<FillBytes> ElementMember(const CodecSpec& codec, std::string_view member,
                                const DataType& type, int otherwise) {
  const Json* value = FindMember(codec, member);
  return ParseFillValue(value == nullptr ? Json(otherwise) : *value, type,
                        fmt::format("codec '{}': {}", codec.name, member));
}

Result<double> NumberMember(const CodecSpec& codec, std::string_view member) {
  const Json* value = FindMember(codec, member);
  if (value == nullptr || !value->is_number()) return WrongMember(codec, member, "a number");
  return value->get<double>();
}

bool IsZero(const FillBytes& element) {
  for (const std::byte byte : element) {
    if (byte != std::byte{0}) return false;
  }
  return true;
}

}  // namespace

Result<std::shared_ptr<const ArrayToArrayCodec>> MakeScaleOffsetCodec(const CodecSpec& codec,
                                                                      const ChunkSpec& chunk) {
  const DataType& type = chunk.data_type;
  if (!IsNumber(type) || type.kind == DataKind::kBool) {
    return Fail(ErrorCode::kUnsupported, "codec '{}': data type '{}' is not known", codec.name,
                type.name);
  }
  Result<FillBytes> scale = ElementMember(codec, "scale", type, 1);
  if (!scale) return Fail(scale);
  Result<FillBytes> offset = ElementMember(codec, "offset", type, 0);
  if (!offset) return Fail(offset);
  if (type.kind != DataKind::kFloat && IsZero(*scale)) {
    return WrongMember(codec, "scale", "another integer");
  }
  return std::make_shared<const ScaleOffsetCodec>(codec.name, type, std::move(*scale),
                                                  std::move(*offset));
}

Result<std::shared_ptr<const ArrayToArrayCodec>> MakeFixedScaleOffsetCodec(const CodecSpec& codec,
                                                                           const ChunkSpec& chunk) {
  const Result<DataType> stored = StoredType(codec, chunk.data_type);
  if (!stored) return Fail(stored);
  if (!IsNumber(chunk.data_type) || !IsNumber(*stored)) {
    return Fail(ErrorCode::kUnsupported, "codec '{}': {} stored as {} is not known", codec.name,
                chunk.data_type.name, stored->name);
  }
  const Result<double> scale = NumberMember(codec, "scale");
  if (!scale) return Fail(scale);
  const Result<double> offset = NumberMember(codec, "offset");
  if (!offset) return Fail(offset);
  Result<DataType> calculated = *stored;
  if (stored->kind != DataKind::kFloat) calculated = ParseDataType("float64", codec.name);
  if (!calculated) return Fail(calculated);
  return std::make_shared<const FixedScaleOffsetCodec>(codec.name, *stored, *calculated, *scale,
                                                       *offset);
}

}  // namespace zarrfs
