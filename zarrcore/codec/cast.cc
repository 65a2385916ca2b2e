#include "zarrcore/codec/cast.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "zarrcore/codec/configuration.h"
#include "zarrcore/codec/convert.h"
#include "zarrcore/codec/stored_as.h"

namespace zarrfs {
namespace {

class CastCodec : public StoredAsCodec {
 public:
  CastCodec(std::string name, DataType stored, Conversion conversion)
      : StoredAsCodec(std::move(name), std::move(stored)), conversion_(conversion) {}

 private:
  Result<Bytes> DecodeElements(BytesView encoded, const DataType& type) const override {
    return ConvertElements(encoded, stored(), type, conversion_);
  }

  Result<Bytes> EncodeElements(BytesView elements, const DataType& type) const override {
    return ConvertElements(elements, type, stored(), conversion_);
  }

  const Conversion conversion_;
};

class QuantizeCodec : public StoredAsCodec {
 public:
  using StoredAsCodec::StoredAsCodec;

 private:
  Result<Bytes> DecodeElements(BytesView encoded, const DataType& type) const override {
    return ConvertElements(encoded, stored(), type, Conversion());
  }
};

tl::unexpected<Error> UnknownCast(const CodecSpec& codec, const DataType& type,
                                  const DataType& stored) {
  return Fail(ErrorCode::kUnsupported, "codec '{}': {} stored as {} is not known", codec.name,
              type.name, stored.name);
}

// The index of the text `member` in `names`; 0 if it is absent.
template <size_t kCount>
Result<size_t> ChoiceMember(const CodecSpec& codec, std::string_view member,
                            const std::array<std::string_view, kCount>& names) {
  const Result<std::string> text = StringMember(codec, member, names.front());
  if (!text) return Fail(text);
  const auto found = std::ranges::find(names, *text);
  if (found == names.end()) {
    return WrongMember(codec, member, fmt::format("one of {}", fmt::join(names, ", ")));
  }
  return static_cast<size_t>(found - names.begin());
}

// In the order of the enumerations.
constexpr std::array<std::string_view, 5> kRoundings = {
    "nearest-even", "towards-zero", "towards-positive", "towards-negative", "nearest-away"};
static_assert(static_cast<int>(Rounding::kNearestAway) == 4);
constexpr std::array<std::string_view, 3> kOutOfRange = {"error", "clamp", "wrap"};
static_assert(static_cast<int>(OutOfRange::kWrap) == 2);

}  // namespace

Result<std::shared_ptr<const ArrayToArrayCodec>> MakeAstypeCodec(const CodecSpec& codec,
                                                                 const ChunkSpec& chunk) {
  const DataType& type = chunk.data_type;
  const Result<DataType> stored = StoredType(codec, type, "decode_dtype", "encode_dtype");
  if (!stored) return Fail(stored);
  if (FindMember(codec, "encode_dtype") == nullptr) {
    return WrongMember(codec, "encode_dtype", "a data type");
  }
  if (!IsNumber(type) || !IsNumber(*stored)) return UnknownCast(codec, type, *stored);
  return std::make_shared<const CastCodec>(codec.name, *stored, Conversion());
}

Result<std::shared_ptr<const ArrayToArrayCodec>> MakeQuantizeCodec(const CodecSpec& codec,
                                                                   const ChunkSpec& chunk) {
  const DataType& type = chunk.data_type;
  const Result<DataType> stored = StoredType(codec, type);
  if (!stored) return Fail(stored);
  if (type.kind != DataKind::kFloat || stored->kind != DataKind::kFloat) {
    return UnknownCast(codec, type, *stored);
  }
  return std::make_shared<const QuantizeCodec>(codec.name, *stored);
}

Result<std::shared_ptr<const ArrayToArrayCodec>> MakeCastValueCodec(const CodecSpec& codec,
                                                                    const ChunkSpec& chunk) {
  const Json* data_type = FindMember(codec, "data_type");
  if (data_type == nullptr) return WrongMember(codec, "data_type", "a data type");
  for (const auto& [member, value] : codec.configuration.items()) {
    if (member != "data_type" && member != "rounding" && member != "out_of_range") {
      return Fail(ErrorCode::kUnsupported, "codec '{}': {} is not known", codec.name, member);
    }
  }
  const Result<DataType> stored = ParseDataType(*data_type, codec.name);
  if (!stored) return Fail(stored);
  const Result<size_t> rounding = ChoiceMember(codec, "rounding", kRoundings);
  if (!rounding) return Fail(rounding);
  const Result<size_t> out_of_range = ChoiceMember(codec, "out_of_range", kOutOfRange);
  if (!out_of_range) return Fail(out_of_range);
  for (const DataType& type : {chunk.data_type, *stored}) {
    if (!IsNumber(type) || type.kind == DataKind::kBool) {
      return UnknownCast(codec, chunk.data_type, *stored);
    }
  }
  return std::make_shared<const CastCodec>(
      codec.name, *stored,
      Conversion{static_cast<Rounding>(*rounding), static_cast<OutOfRange>(*out_of_range)});
}

}  // namespace zarrfs
