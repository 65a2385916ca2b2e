#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

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

constexpr size_t kMaxScalars = 256;  // limited, because each array element is compared with all

// An entry of "scalar_map": an element, and the element to which it is converted.
struct MappedScalar {
  Bytes from;
  Bytes to;
};
using ScalarMap = std::vector<MappedScalar>;

// True if two elements are equal as numbers. NaN is equal to NaN.
bool IsSame(BytesView element, BytesView other, const DataType& type) {
  return WithElementType(type, [&]<typename T>(std::type_identity<T>) {
    const auto a = LoadElement<T>(element.data());
    const auto b = LoadElement<T>(other.data());
    if constexpr (std::is_same_v<T, Half>) {
      return a.ToDouble() == b.ToDouble() || (std::isnan(a.ToDouble()) && std::isnan(b.ToDouble()));
    } else if constexpr (std::is_floating_point_v<T>) {
      return a == b || (std::isnan(a) && std::isnan(b));
    } else {
      return a == b;
    }
  });
}

// Like ConvertElements(), but elements that are in `map` are converted as the map says.
Result<Bytes> ConvertMapped(Bytes elements, const DataType& from, const DataType& to,
                            Conversion conversion, const ScalarMap& map) {
  if (map.empty()) return ConvertElements(std::move(elements), from, to, conversion);
  // A copy of the elements. In `elements`, those in the map are zeroed before the conversion,
  // because ConvertElements() may be unable to convert them.
  const Bytes given = elements;
  const auto find = [&](size_t i) {
    const BytesView element = BytesView(given).subspan(i * from.item_size, from.item_size);
    return std::ranges::find_if(
        map, [&](const MappedScalar& each) { return IsSame(element, each.from, from); });
  };
  const size_t count = given.size() / from.item_size;
  for (size_t i = 0; i < count; ++i) {
    if (find(i) == map.end()) continue;
    std::fill_n(elements.data() + i * from.item_size, from.item_size, std::byte{0});
  }
  auto converted = ConvertElements(std::move(elements), from, to, conversion);
  for (size_t i = 0; converted && i < count; ++i) {
    const auto mapped = find(i);
    if (mapped == map.end()) continue;
    std::ranges::copy(mapped->to, converted->data() + i * to.item_size);
  }
  return converted;
}

class CastValueCodec : public StoredAsCodec {
 public:
  CastValueCodec(const CodecSpec& codec, DataType stored, Conversion conversion, ScalarMap encoded,
                 ScalarMap decoded)
      : StoredAsCodec(codec.name, std::move(stored)),
        conversion_(conversion),
        encoded_(std::move(encoded)),
        decoded_(std::move(decoded)) {}

 private:
  Result<Bytes> DecodeElements(Bytes encoded, const DataType& type) const override {
    return ConvertMapped(std::move(encoded), stored(), type, conversion_, decoded_);
  }
  size_t CalculatedItemSize(const DataType& type) const override {
    const size_t converted = std::min(type.item_size, stored().item_size);
    return decoded_.empty() ? 0 : converted + stored().item_size;
  }
  Result<Bytes> EncodeElements(BytesView elements, const DataType& type) const override {
    return ConvertMapped({elements.begin(), elements.end()}, type, stored(), conversion_, encoded_);
  }

  const Conversion conversion_;
  const ScalarMap encoded_;
  const ScalarMap decoded_;
};

// Parses the pairs [from, to] of a member of "scalar_map". Returns them in reverse order, so if
// several pairs have the same `from`, a search finds the last one.
Result<ScalarMap> ParseScalarMap(const CodecSpec& codec, std::string_view member,
                                 const DataType& from, const DataType& to) {
  const std::string name = fmt::format("codec '{}': scalar_map.{}", codec.name, member);
  const Json& pairs = MemberOrNull(MemberOrNull(codec.configuration, "scalar_map"), member);
  ScalarMap map;
  if (pairs.is_null()) return map;
  const auto is_pair = [](const Json& pair) { return pair.is_array() && pair.size() == 2; };
  if (!pairs.is_array() || !std::ranges::all_of(pairs, is_pair)) {
    return Fail(ErrorCode::kDamaged, "{}: expected a list of pairs, found {}", name,
                Excerpt(pairs));
  }
  if (pairs.size() > kMaxScalars) {
    return Fail(ErrorCode::kUnsupported, "{}: {} pairs, at most {} are known", name, pairs.size(),
                kMaxScalars);
  }
  for (const Json& pair : pairs) {
    auto key = ParseFillValue(pair[0], from, name);
    if (!key) return Fail(key);
    auto value = ParseFillValue(pair[1], to, name);
    if (!value) return Fail(value);
    map.insert(map.begin(), {*std::move(key), *std::move(value)});
  }
  return map;
}

// Returns the index of the string `member` in `names`, or 0 if the member is absent.
Result<size_t> NameMember(const CodecSpec& codec, std::string_view member,
                          std::span<const std::string_view> names) {
  return ChoiceMember(codec, member, names, fmt::format("one of {}", fmt::join(names, ", ")));
}

// The names of the enumerators of Rounding, in their order.
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
  if (const auto unknown = UnknownMember(codec.configuration,
                                         {"data_type", "rounding", "out_of_range", "scalar_map"})) {
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
  const Json& map = MemberOrNull(codec.configuration, "scalar_map");
  if (const auto unknown = UnknownMember(map, {"encode", "decode"})) {
    return Fail(ErrorCode::kUnsupported, "codec '{}': scalar_map: {} is not known", codec.name,
                *unknown);
  }
  if (!map.is_null() && !map.is_object()) return WrongMember(codec, "scalar_map", "an object");
  auto encoded = ParseScalarMap(codec, "encode", chunk.data_type, *stored);
  if (!encoded) return Fail(encoded);
  auto decoded = ParseScalarMap(codec, "decode", *stored, chunk.data_type);
  if (!decoded) return Fail(decoded);
  return std::make_shared<const CastValueCodec>(
      codec, *stored,
      Conversion{static_cast<Rounding>(*rounding), static_cast<OutOfRange>(*out_of_range)},
      *std::move(encoded), *std::move(decoded));
}

Result<ArrayToArrayPtr> MakeBitroundCodec(const CodecSpec& codec, const ChunkSpec& chunk) {
  return std::make_shared<const DecodedCastCodec>(codec.name, chunk.data_type);
}

}  // namespace zarrfs
