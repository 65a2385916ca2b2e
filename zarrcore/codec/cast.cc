#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "zarrcore/codec/configuration.h"
#include "zarrcore/codec/convert.h"
#include "zarrcore/codec/registry.h"
#include "zarrcore/codec/stored_as.h"

namespace zarrfs {
namespace {

class DecodedCastCodec : public StoredAsCodec {
 public:
  DecodedCastCodec(std::string name, DataType stored, Conversion conversion = {})
      : StoredAsCodec(std::move(name), std::move(stored)), conversion_(conversion) {}

 protected:
  Result<Bytes> DecodeElements(Bytes encoded, const DataType& type) const override {
    return ConvertElements(std::move(encoded), stored(), type, conversion_);
  }

  const Conversion conversion_;
};

class CastCodec : public DecodedCastCodec {
  using DecodedCastCodec::DecodedCastCodec;

  Result<Bytes> EncodeElements(BytesView elements, const DataType& type) const override {
    return ConvertElements({elements.begin(), elements.end()}, type, stored(), conversion_);
  }
};

// The index of the text `member` in `names`; 0 if it is absent.
Result<size_t> NameMember(const CodecSpec& codec, std::string_view member,
                          std::span<const std::string_view> names) {
  return ChoiceMember(codec, member, names, fmt::format("one of {}", fmt::join(names, ", ")));
}

// In the order of the enumerations.
constexpr std::array<std::string_view, 5> kRoundings = {
    "nearest-even", "towards-zero", "towards-positive", "towards-negative", "nearest-away"};
static_assert(static_cast<int>(Rounding::kNearestAway) == 4);
constexpr std::array<std::string_view, 3> kOutOfRange = {"error", "clamp", "wrap"};
static_assert(static_cast<int>(OutOfRange::kWrap) == 2);

}  // namespace

Result<ArrayToArrayPtr> MakeAstypeCodec(const CodecSpec& codec, const ChunkSpec& chunk) {
  const DataType& type = chunk.data_type;
  const Result<DataType> stored = StoredType(codec, type, "decode_dtype", "encode_dtype");
  if (!stored) return Fail(stored);
  if (FindMember(codec, "encode_dtype") == nullptr) {
    return WrongMember(codec, "encode_dtype", "a data type");
  }
  if (!IsNumber(type) || !IsNumber(*stored)) return RefuseTypes(codec, type, *stored);
  return std::make_shared<const CastCodec>(codec.name, *stored);
}

Result<ArrayToArrayPtr> MakeQuantizeCodec(const CodecSpec& codec, const ChunkSpec& chunk) {
  const DataType& type = chunk.data_type;
  const Result<DataType> stored = StoredType(codec, type);
  if (!stored) return Fail(stored);
  if (type.kind != DataKind::kFloat || stored->kind != DataKind::kFloat) {
    return RefuseTypes(codec, type, *stored);
  }
  return std::make_shared<const DecodedCastCodec>(codec.name, *stored);
}

Result<ArrayToArrayPtr> MakeCastValueCodec(const CodecSpec& codec, const ChunkSpec& chunk) {
  const Json* data_type = FindMember(codec, "data_type");
  if (data_type == nullptr) return WrongMember(codec, "data_type", "a data type");
  if (const auto unknown =
          UnknownMember(codec.configuration, {"data_type", "rounding", "out_of_range"})) {
    return Fail(ErrorCode::kUnsupported, "codec '{}': {} is not known", codec.name, *unknown);
  }
  const Result<DataType> stored = ParseDataType(*data_type, codec.name);
  if (!stored) return Fail(stored);
  const Result<size_t> rounding = NameMember(codec, "rounding", kRoundings);
  if (!rounding) return Fail(rounding);
  const Result<size_t> out_of_range = NameMember(codec, "out_of_range", kOutOfRange);
  if (!out_of_range) return Fail(out_of_range);
  if (!IsIntegerOrFloat(chunk.data_type) || !IsIntegerOrFloat(*stored)) {
    return RefuseTypes(codec, chunk.data_type, *stored);
  }
  return std::make_shared<const CastCodec>(
      codec.name, *stored,
      Conversion{static_cast<Rounding>(*rounding), static_cast<OutOfRange>(*out_of_range)});
}

Result<ArrayToArrayPtr> MakeBitroundCodec(const CodecSpec& codec, const ChunkSpec& chunk) {
  return std::make_shared<const DecodedCastCodec>(codec.name, chunk.data_type);
}

}  // namespace zarrfs
