#include <utility>

#include "zarrcore/codec/configuration.h"
#include "zarrcore/codec/convert.h"
#include "zarrcore/codec/registry.h"
#include "zarrcore/codec/stored_as.h"

namespace zarrfs {
namespace {

template <typename T>
T Undo(T stored, T scale, T offset) {
  if constexpr (!std::is_integral_v<T>) {
    const T quotient = stored / scale;
    return quotient + offset;
  } else {
    using Bits = BitsOf<sizeof(T)>;
    T quotient;
    if (std::is_signed_v<T> && scale == static_cast<T>(-1)) {
      // Negates as an unsigned number, because a signed type cannot represent its negated minimum.
      quotient = static_cast<T>(Bits{0} - static_cast<Bits>(stored));
    } else {
      quotient = static_cast<T>(stored / scale);
      const bool down = stored % scale != 0 && (stored < T{0}) != (scale < T{0});
      if (down) quotient = static_cast<T>(quotient - 1);
    }
    return static_cast<T>(static_cast<Bits>(quotient) + static_cast<Bits>(offset));
  }
}

class ScaleOffsetCodec : public StoredAsCodec {
 public:
  // `scale` and `offset` are elements of `calculated`, the type in which the codec computes.
  ScaleOffsetCodec(std::string name, DataType stored, DataType calculated, FillBytes scale,
                   FillBytes offset)
      : StoredAsCodec(std::move(name), std::move(stored)),
        calculated_(std::move(calculated)),
        scale_(std::move(scale)),
        offset_(std::move(offset)) {}

 private:
  size_t CalculatedItemSize(const DataType& /*type*/) const override {
    return calculated_.item_size;
  }

  Result<Bytes> DecodeElements(Bytes encoded, const DataType& type) const override {
    const uint64_t elements = encoded.size() / stored().item_size;
    if (elements > kMaxChunkBytes / calculated_.item_size) {
      return Fail(ErrorCode::kTooLarge, "codec '{}': {} elements are too many to calculate in {}",
                  name(), elements, calculated_.name);
    }
    Result<Bytes> numbers =
        ConvertElements(std::move(encoded), stored(), calculated_, Conversion());
    if (!numbers) return numbers;
    WithElementType(calculated_, [&]<typename T>(std::type_identity<T>) {
      const T scale = LoadElement<T>(scale_.data());
      const T offset = LoadElement<T>(offset_.data());
      std::byte* const end = numbers->data() + numbers->size();
      for (std::byte* number = numbers->data(); number != end; number += sizeof(T)) {
        StoreElement(number, Undo(LoadElement<T>(number), scale, offset));
      }
    });
    if (calculated_.name == type.name) return numbers;
    return ConvertElements(std::move(*numbers), calculated_, type, Conversion());
  }

  const DataType calculated_;
  const FillBytes scale_;
  const FillBytes offset_;
};

Result<FillBytes> ElementMember(const CodecSpec& codec, std::string_view member,
                                const DataType& type, int otherwise) {
  const Json* value = FindMember(codec, member);
  return ParseFillValue(value == nullptr ? Json(otherwise) : *value, type,
                        fmt::format("codec '{}': {}", codec.name, member));
}

// Returns the number `member` of the configuration as an element of the float type `type`.
Result<FillBytes> NumberMember(const CodecSpec& codec, std::string_view member,
                               const DataType& type) {
  const Json* value = FindMember(codec, member);
  if (value == nullptr || !value->is_number()) return WrongMember(codec, member, "a number");
  FillBytes number(sizeof(double));
  StoreElement(number.data(), value->get<double>());
  return ConvertElements(std::move(number), CoreType("float64"), type, Conversion());
}

}  // namespace

Result<ArrayToArrayPtr> MakeScaleOffsetCodec(const CodecSpec& codec, const ChunkSpec& chunk) {
  const DataType& type = chunk.data_type;
  if (!IsIntegerOrFloat(type)) {
    return Fail(ErrorCode::kUnsupported, "codec '{}': data type '{}' is not known", codec.name,
                type.name);
  }
  Result<FillBytes> scale = ElementMember(codec, "scale", type, 1);
  if (!scale) return Fail(scale);
  Result<FillBytes> offset = ElementMember(codec, "offset", type, 0);
  if (!offset) return Fail(offset);
  if (type.kind != DataKind::kFloat && *scale == FillBytes(scale->size())) {
    return WrongMember(codec, "scale", "another integer");
  }
  return std::make_shared<const ScaleOffsetCodec>(codec.name, type, type, std::move(*scale),
                                                  std::move(*offset));
}

Result<ArrayToArrayPtr> MakeFixedScaleOffsetCodec(const CodecSpec& codec, const ChunkSpec& chunk) {
  const Result<DataType> stored = StoredType(codec, chunk.data_type);
  if (!stored) return Fail(stored);
  if (!IsNumber(chunk.data_type) || !IsNumber(*stored)) {
    return RefuseTypes(codec, chunk.data_type, *stored);
  }
  const DataType calculated = stored->kind == DataKind::kFloat ? *stored : CoreType("float64");
  auto scale = NumberMember(codec, "scale", calculated);
  if (!scale) return Fail(scale);
  auto offset = NumberMember(codec, "offset", calculated);
  if (!offset) return Fail(offset);
  return std::make_shared<const ScaleOffsetCodec>(codec.name, *stored, calculated,
                                                  std::move(*scale), std::move(*offset));
}

}  // namespace zarrfs
