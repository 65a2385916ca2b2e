#include "zarrcore/view/nc_variable.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <set>
#include <utility>

#include "zarrcore/base/byte_order.h"
#include "zarrcore/codec/convert.h"
#include "zarrcore/codec/vlen.h"
#include "zarrcore/codec/widen.h"
#include "zarrcore/metadata/nczarr.h"
#include "zarrcore/view/v2_attributes.h"

namespace zarrfs {
namespace {

using std::string_view_literals::operator""sv;

// Attributes that must have the same type as the array's values; see CF conventions, 2.5.1 and 3.5.
constexpr std::array kOfTheTypeOfValues = {"valid_min"sv,     "valid_max"sv,    "valid_range"sv,
                                           "missing_value"sv, "actual_range"sv, "flag_values"sv,
                                           "flag_masks"sv};

// Returns the NetCDF type that represents all values of a number type exactly; nullopt if there is
// none.
std::optional<NcType> ExactType(const DataType& type) {
  const size_t size = type.item_size;
  switch (type.kind) {
    case DataKind::kBool:
      return NcType::kByte;
    case DataKind::kInt:
      return size == 1   ? NcType::kByte
             : size == 2 ? NcType::kShort
             : size == 4 ? NcType::kInt
                         : NcType::kInt64;
    case DataKind::kUint:
      return size == 1   ? NcType::kUbyte
             : size == 2 ? NcType::kUshort
             : size == 4 ? NcType::kUint
                         : NcType::kUint64;
    case DataKind::kFloat:
      return size == 8 ? NcType::kDouble : NcType::kFloat;
    default:
      return std::nullopt;
  }
}

// Returns the CDF-2 type that can represent all values of `exact`; nullopt if there is none.
// `fits_int32`: true if all values that occur fit into an int32, so kInt is sufficient.
std::optional<NcType> Cdf2Type(NcType exact, bool fits_int32) {
  if (exact <= NcType::kDouble) return exact;
  if (exact == NcType::kUbyte) return NcType::kShort;
  if (exact == NcType::kUshort) return NcType::kInt;
  if (fits_int32) return NcType::kInt;
  return std::nullopt;
}

std::optional<double> NumberOf(const Json& json) {
  if (json.is_number()) return json.get<double>();
  return NonFinite(json);
}

bool IsInt32(const Json& json) {
  return json.is_number_integer() && ParseInteger(json, 32, /*is_signed=*/true).has_value();
}

// True if valid_range, or valid_min and valid_max, state that all values fit into an int, and the
// fill value and _FillValue fit, too.
bool IsPromisedToFit(const ArrayMetadata& array) {
  const Json& range = MemberOrNull(array.attributes, "valid_range");
  const bool has_range =
      range.is_array() && range.size() == 2 && IsInt32(range[0]) && IsInt32(range[1]);
  const bool has_ends = IsInt32(MemberOrNull(array.attributes, "valid_min")) &&
                        IsInt32(MemberOrNull(array.attributes, "valid_max"));
  const auto fill = RangeOf(array.fill_value, array.data_type);
  const auto masked =
      DecodeFillAttribute(MemberOrNull(array.attributes, "_FillValue"), array.data_type);
  const auto masked_range = masked ? RangeOf(*masked, array.data_type) : fill;
  return (has_range || has_ends) && fill && fill->fits_int32 && masked_range &&
         masked_range->fits_int32;
}

template <typename T>
void AppendBig(std::string& out, T value) {
  auto bits = std::bit_cast<BitsOf<sizeof(T)>>(value);
  if constexpr (std::endian::native == std::endian::little) bits = ByteSwap(bits);
  out.append(reinterpret_cast<const char*>(&bits), sizeof bits);
}

// Appends a number as a value of `type`. False if the type cannot represent it exactly.
bool AppendNumber(std::string& out, const Json& json, NcType type) {
  const auto number = NumberOf(json);
  if (!number) return false;
  return WithElementType(DataTypeOf(type), [&]<typename T>(std::type_identity<T>) {
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
      const auto bits = ParseInteger(json, 8 * sizeof(T), std::is_signed_v<T>);
      if (bits) AppendBig(out, static_cast<T>(*bits));
      return bits.has_value();
    } else if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double>) {
      const auto value = static_cast<T>(*number);
      const bool is_exact = std::isnan(*number) || static_cast<double>(value) == *number;
      // Rejects integers above 2^53, which a double may not represent exactly.
      const bool is_whole = !json.is_number_integer() || std::abs(*number) <= 0x1p53;
      if (is_exact && is_whole) AppendBig(out, value);
      return is_exact && is_whole;
    } else {
      return false;
    }
  });
}

// Makes an attribute from `numbers`, in the first of `types` that can represent all of them;
// nullopt if none can.
std::optional<NcAttribute> NumbersAs(const std::string& name, const Json& numbers,
                                     std::span<const NcType> types) {
  for (const NcType type : types) {
    NcAttribute attribute{name, type, ""};
    const bool all = std::ranges::all_of(
        numbers, [&](const Json& each) { return AppendNumber(attribute.values, each, type); });
    if (all) return attribute;
  }
  return std::nullopt;
}

NcAttribute TextAs(const std::string& name, const Json& value) {
  if (const std::string* text = TextOf(value)) return {name, NcType::kChar, *text};
  std::string text = DumpJson(value, JsonEncoding::kUtf8);
  std::erase(text, '\n');
  return {name, NcType::kChar, std::move(text)};
}

NcAttribute AttributeAs(const std::string& name, const Json& value, int version,
                        std::optional<NcType> preferred) {
  const Json numbers = value.is_boolean() ? Json::array({value.get<bool>() ? 1 : 0})
                       : value.is_array() ? value
                                          : Json::array({value});
  std::vector<NcType> types;
  if (preferred) types.push_back(*preferred);
  if (value.is_boolean()) types.push_back(NcType::kByte);
  const bool are_integers = std::ranges::all_of(numbers, &Json::is_number_integer);
  if (are_integers) types.push_back(NcType::kInt);
  if (are_integers && version == 5) {
    types.push_back(NcType::kInt64);
    types.push_back(NcType::kUint64);
  }
  types.push_back(NcType::kDouble);
  if (auto attribute = numbers.empty() ? std::nullopt : NumbersAs(name, numbers, types)) {
    return *attribute;
  }
  return TextAs(name, value);
}

// Returns the type that NCZarr's metadata state for an attribute; nullopt if they state none, or if
// the file's format lacks that type.
std::optional<NcType> NotedType(const Json& attributes, const std::string& name, int version) {
  constexpr std::array kTypes = {
      std::pair("i1"sv, NcType::kByte),   std::pair("i2"sv, NcType::kShort),
      std::pair("i4"sv, NcType::kInt),    std::pair("f4"sv, NcType::kFloat),
      std::pair("f8"sv, NcType::kDouble), std::pair("u1"sv, NcType::kUbyte),
      std::pair("u2"sv, NcType::kUshort), std::pair("u4"sv, NcType::kUint),
      std::pair("i8"sv, NcType::kInt64),  std::pair("u8"sv, NcType::kUint64)};
  const std::string noted = NczarrTypeOf(attributes, name);
  for (const auto& [code, type] : kTypes) {
    if (noted.size() == 3 && noted.ends_with(code) && (version == 5 || type <= NcType::kDouble)) {
      return type;
    }
  }
  return std::nullopt;
}

// Rounds numbers to float if `noted`, the type that NCZarr's metadata state, is kFloat. JSON may
// spell a float with digits that a float cannot represent.
Json AsWritten(Json value, std::optional<NcType> noted) {
  if (noted != NcType::kFloat) return value;
  const auto round = [](Json& number) {
    if (number.is_number()) number = static_cast<double>(static_cast<float>(number.get<double>()));
  };
  if (value.is_array()) std::ranges::for_each(value, round);
  round(value);
  return value;
}

// Returns the value that xarray masks, as an element of the array: the attribute _FillValue, or in
// a v2 array without this attribute, the fill value. nullopt if xarray masks nothing.
std::optional<FillBytes> MaskedValue(const ArrayMetadata& array, const Json& attributes) {
  const auto given = attributes.find("_FillValue");
  if (given != attributes.end()) {
    if (auto fill = DecodeFillAttribute(*given, array.data_type)) return fill;
    if (array.data_type.is_date()) {
      if (const auto bits = ParseInteger(*given, 64, true)) {
        FillBytes fill(8);
        StoreLittle(fill.data(), *bits);
        return fill;
      }
    }
  }
  if (!array.is_stored_as_v2() || array.undefined_fill) return std::nullopt;
  return array.fill_value;
}

// True if the elements of `type` are Unicode strings.
bool IsCharacters(const DataType& type) {
  return type.kind == DataKind::kFixedLengthUtf32 || type.kind == DataKind::kString;
}

}  // namespace

bool NeedsScan(const ArrayMetadata& array) {
  const DataType& type = array.data_type;
  const bool is_wide_integer = type.is_date() ||
                               (type.kind == DataKind::kInt && type.item_size == 8) ||
                               (type.kind == DataKind::kUint && type.item_size >= 4);
  return is_wide_integer || IsCharacters(type);
}

Result<NcElements> NcElementsOf(const ArrayMetadata& array, int version,
                                const std::optional<ElementRange>& known) {
  const DataType& type = array.data_type;
  if (type.kind == DataKind::kNullTerminatedBytes) {
    return NcElements{NcType::kChar, {.type = type}, type.item_size};
  }
  if (type.kind == DataKind::kFixedLengthUtf32) {
    // Without a scan, assumes four bytes per character, the maximum in UTF-8 and the size in
    // UTF-32.
    const uint64_t bytes = known ? known->text_bytes : type.item_size;
    return NcElements{
        NcType::kChar, {.type = TextType(TextItems::kUtf8, bytes), .is_converted = true}, bytes};
  }
  if (type.kind == DataKind::kString && known) {
    const uint64_t bytes = known->text_bytes;
    return NcElements{NcType::kChar, {.type = TextType(TextItems::kUtf8, bytes)}, bytes};
  }
  DataType number = type;
  NcElements elements;
  // NetCDF has no float16, so float16 is the only number type that is widened. A bool is written as
  // a byte without widening.
  const bool is_half = type.kind == DataKind::kFloat && type.item_size == 2;
  if (const auto wide = WideTypeOf(type); wide && (!IsNumber(type) || is_half)) {
    elements.form.is_wide = true;
    number = *wide;
  }
  const auto exact = ExactType(number);
  if (!exact) {
    return Fail(ErrorCode::kUnsupported,
                "data type '{}': NetCDF's classic formats have no such type", type.name);
  }
  const bool fits = known ? known->fits_int32 : IsPromisedToFit(array);
  const auto stored = version == 2 ? Cdf2Type(*exact, fits) : exact;
  if (!stored) {
    return Fail(ErrorCode::kUnsupported,
                "data type '{}': CDF-2 has no such type, and the values may not fit int",
                type.name);
  }
  elements.type = *stored;
  elements.form.type = DataTypeOf(*stored);
  elements.form.is_converted = number.name != elements.form.type.name;
  elements.form.is_big_endian = true;
  return elements;
}

std::vector<NcAttribute> NcAttributesOf(const Json& attributes, int version) {
  std::vector<NcAttribute> made;
  std::set<std::string> names;
  const Json shown = WithoutNczarr(attributes);
  for (const auto& [name, value] : shown.items()) {
    const auto [nc_name, is_new] = names.insert(NcName(name));
    if (!is_new) continue;
    const auto noted = NotedType(attributes, name, version);
    made.push_back(AttributeAs(*nc_name, AsWritten(value, noted), version, noted));
  }
  return made;
}

std::vector<NcAttribute> NcAttributesOf(const ArrayMetadata& array, const NcElements& elements,
                                        int version, std::vector<std::string>& notes) {
  Json attributes = WithoutNczarr(array.attributes);
  if (elements.type != NcType::kChar) {
    attributes = WithValidFill(std::move(attributes), array.data_type, notes);
  }
  attributes = WithCfTime(std::move(attributes), array.data_type, notes);
  std::vector<NcAttribute> made;
  const auto masked = MaskedValue(array, attributes);
  // With "dtype": "bool", xarray would convert a masked value to true.
  if (!masked) attributes = WithBoolType(std::move(attributes), array.data_type, notes);
  if (masked && elements.type != NcType::kChar) {
    // If the file's type cannot represent the masked value, no element has that value, and the file
    // needs no _FillValue.
    const auto value = InForm(*masked, array.data_type, elements.form);
    if (value) {
      const auto bytes = std::span(*value);
      made.push_back({"_FillValue", elements.type,
                      std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size())});
    }
  }
  if (IsCharacters(array.data_type)) {
    made.push_back({"_Encoding", NcType::kChar, "utf-8"});
  }
  std::set<std::string> names = {"_FillValue", "_Encoding"};
  for (const auto& [name, value] : attributes.items()) {
    if (name == kDimensionsAttribute && AreDimensionNames(value, array.rank())) continue;
    const auto [nc_name, is_new] = names.insert(NcName(name));
    if (!is_new) continue;
    const bool is_like_values =
        std::ranges::find(kOfTheTypeOfValues, name) != kOfTheTypeOfValues.end() &&
        elements.type != NcType::kChar;
    const auto noted =
        is_like_values ? std::optional(elements.type) : NotedType(array.attributes, name, version);
    made.push_back(
        AttributeAs(*nc_name, is_like_values ? value : AsWritten(value, noted), version, noted));
  }
  return made;
}

std::string NcName(std::string name) {
  name = PlainName(std::move(name));
  const auto first = static_cast<unsigned char>(name.empty() ? '\0' : name[0]);
  const bool may_begin = first >= 0x80 || std::isalnum(first) != 0 || first == '_';
  if (!may_begin) name.insert(0, "_");
  while (name.ends_with(' ')) name.back() = '_';
  return name;
}

}  // namespace zarrfs
