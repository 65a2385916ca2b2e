#include "zarrcore/view/v2_attributes.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace zarrfs {
namespace {

// "" for a dimension without a name. Readers of v3 know dimension_names only, and stores that were
// migrated from v2 carry the attribute on, out of date: it names what nothing else does.
std::vector<std::string> GivenNames(const ArrayMetadata& metadata) {
  std::vector<std::string> names(metadata.rank());
  const auto given = metadata.attributes.find(kDimensionsAttribute);
  const bool has_attribute =
      given != metadata.attributes.end() && given->is_array() && given->size() == names.size();
  for (size_t d = 0; d < names.size(); ++d) {
    if (metadata.dimension_names && (*metadata.dimension_names)[d]) {
      names[d] = *(*metadata.dimension_names)[d];
    } else if (has_attribute && (*given)[d].is_string() && !NonFinite((*given)[d])) {
      names[d] = (*given)[d].get<std::string>();
    }
  }
  return names;
}

bool IsNumber(const Json& value) { return value.is_number() || NonFinite(value); }

// Integers are kept as 65 bits: a sign and a magnitude.
struct Integer {
  bool is_negative;
  uint64_t magnitude;
};
Integer IntegerOf(const Json& number) {
  if (number.is_number_unsigned()) return {false, number.get<uint64_t>()};
  const auto value = number.get<int64_t>();
  if (value >= 0) return {false, static_cast<uint64_t>(value)};
  return {true, 0 - static_cast<uint64_t>(value)};
}

bool Fits(const Json& number, int bits, bool is_signed) {
  const Integer integer = IntegerOf(number);
  const uint64_t half = uint64_t{1} << (bits - 1);
  if (integer.is_negative) return is_signed && integer.magnitude <= half;
  return is_signed ? integer.magnitude < half : integer.magnitude <= half - 1 + half;
}

// An integer beyond 64 bits, which no type of netCDF-C holds.
bool IsLarge(const Json& number) {
  const auto value = NonFinite(number);
  return value && std::isfinite(*value);
}

// netCDF-C gives a list the smallest type that its first number fits.
bool FitTheTypeOfTheFirst(const Json& list) {
  const auto is_float = [](const Json& number) {
    return number.is_number_float() || NonFinite(number);
  };
  if (std::ranges::any_of(list, IsLarge)) return false;
  if (std::ranges::all_of(list, is_float)) return true;
  if (std::ranges::any_of(list, is_float)) return false;
  for (const int bits : {8, 16, 32, 64}) {
    for (const bool is_signed : {true, false}) {
      if (!Fits(list[0], bits, is_signed)) continue;
      return std::ranges::all_of(list,
                                 [&](const Json& number) { return Fits(number, bits, is_signed); });
    }
  }
  return false;
}

// What netCDF-C 4.9.0 takes a number for: the smallest integer type that it fits, or a double.
std::string TypeAsWritten(const Json& number) {
  if (!number.is_number_integer()) return "<f8";
  for (const int bits : {8, 16, 32, 64}) {
    for (const bool is_signed : {true, false}) {
      if (!Fits(number, bits, is_signed)) continue;
      return fmt::format("{}{}{}", bits == 8 ? '|' : '<', is_signed ? 'i' : 'u', bits / 8);
    }
  }
  return "";
}

bool IsBeyondDouble(const Json& number) {
  return IsLarge(number) ||
         (number.is_number_integer() && IntegerOf(number).magnitude > uint64_t{1} << 53);
}

Json Plain(Json value) {
  if (IsLarge(value)) return *NonFinite(value);
  if (NonFinite(value) || value.is_number() || value.is_boolean() || value.is_string() ||
      value.is_object()) {
    return value;
  }
  if (value.is_array() && !value.empty() && std::ranges::all_of(value, IsNumber)) {
    if (FitTheTypeOfTheFirst(value)) return value;
    if (std::ranges::none_of(value, IsBeyondDouble)) {
      for (Json& number : value) {
        if (number.is_number_integer()) number = number.get<double>();
      }
      return value;
    }
  }
  std::string text = DumpJson(value, JsonEncoding::kUtf8);
  std::erase(text, '\n');
  return text;
}

}  // namespace

Json DimensionNames(const ArrayMetadata& metadata, bool plain, bool with_lengths) {
  Json names = Json::array();
  std::map<std::string, uint64_t> lengths;
  std::vector<std::string> given = GivenNames(metadata);
  for (size_t d = 0; d < metadata.rank(); ++d) {
    const uint64_t length = metadata.shape[d];
    std::string name = std::move(given[d]);
    if (plain) name = PlainName(std::move(name));
    if (name.empty()) {
      name = fmt::format("dim_{}_{}", d, length);
    } else if (with_lengths) {
      name = fmt::format("{}_{}", name, length);
    }
    while (lengths.emplace(name, length).first->second != length) {
      name = fmt::format("{}_{}_{}", name, d, length);
    }
    names.push_back(std::move(name));
  }
  return names;
}

std::vector<std::string> PlainDimensionNames(const ArrayMetadata& metadata) {
  std::vector<std::string> names = GivenNames(metadata);
  for (std::string& name : names) name = PlainName(std::move(name));
  return names;
}

std::string PlainName(std::string name) {
  for (char& c : name) {
    const auto code = static_cast<unsigned char>(c);
    if (c == '/' || code < ' ' || code == 0x7f) c = '_';
  }
  if (name.starts_with(' ')) name[0] = '_';
  if (name.size() > kMaxPlainName) {
    size_t end = kMaxPlainName;
    // Not within a character of UTF-8.
    while (end > 0 && (static_cast<unsigned char>(name[end]) & 0xc0) == 0x80) --end;
    name.resize(end);
  }
  return name;
}

void TypeFillAttribute(Json& attributes, const std::string& dtype) {
  const auto fill = attributes.find("_FillValue");
  if (fill == attributes.end() || !IsNumber(*fill) || TypeAsWritten(*fill) == dtype) return;
  Json& ours = attributes["_NCZARR_ATTR"];
  if (!ours.is_object()) ours = Json::object();
  Json& types = ours["types"];
  if (!types.is_object()) types = Json::object();
  types["_FillValue"] = dtype;
}

Json PlainAttributes(const Json& attributes) {
  Json plain = Json::object();
  for (const auto& [name, value] : attributes.items()) {
    if (!name.empty()) plain.emplace(PlainName(name), Plain(value));
  }
  return plain;
}

}  // namespace zarrfs
