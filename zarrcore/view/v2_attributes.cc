#include "zarrcore/view/v2_attributes.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zarrfs {
namespace {

// Returns the dimension names of an array; "" for a dimension without a name. v3 readers use only
// dimension_names, and the attribute _ARRAY_DIMENSIONS may be out of date in stores that were
// migrated from v2. So the attribute is used only for dimensions that have no name in
// dimension_names.
std::vector<std::string> GivenNames(const ArrayMetadata& metadata) {
  std::vector<std::string> names(metadata.rank());
  const auto given = metadata.attributes.find(kDimensionsAttribute);
  const bool has_attribute =
      given != metadata.attributes.end() && AreDimensionNames(*given, names.size());
  for (size_t d = 0; d < names.size(); ++d) {
    if (metadata.dimension_names && (*metadata.dimension_names)[d]) {
      names[d] = *(*metadata.dimension_names)[d];
    } else if (has_attribute && TextOf((*given)[d]) != nullptr) {
      names[d] = (*given)[d].get<std::string>();
    }
  }
  return names;
}

bool IsNumber(const Json& value) { return value.is_number() || NonFinite(value); }

struct IntegerType {
  int bits;
  bool is_signed;

  [[nodiscard]] bool Fits(const Json& integer) const {
    return ParseInteger(integer, static_cast<size_t>(bits), is_signed).has_value();
  }
};

// Returns the smallest integer type that can represent `integer`; nullopt if none can.
std::optional<IntegerType> SmallestType(const Json& integer) {
  for (const int bits : {8, 16, 32, 64}) {
    for (const bool is_signed : {true, false}) {
      const IntegerType type = {bits, is_signed};
      if (type.Fits(integer)) return type;
    }
  }
  return std::nullopt;
}

// True for an integer that needs more than 64 bits, so no netCDF-C type can represent it.
bool IsLarge(const Json& number) {
  const auto value = NonFinite(number);
  return value && std::isfinite(*value);
}

// True if the smallest type of the first number of a list can represent all numbers of the list.
// netCDF-C gives that type to the whole list.
bool FitTheTypeOfTheFirst(const Json& list) {
  const auto is_float = [](const Json& number) {
    return number.is_number_float() || NonFinite(number);
  };
  if (std::ranges::any_of(list, IsLarge)) return false;
  if (std::ranges::all_of(list, is_float)) return true;
  if (std::ranges::any_of(list, is_float)) return false;
  const auto type = SmallestType(list[0]);
  return type && std::ranges::all_of(list, [&](const Json& each) { return type->Fits(each); });
}

// Returns the dtype that netCDF-C 4.9.0 infers from a number: the smallest integer type that can
// represent it, or double. "" if no type can represent the number.
std::string TypeAsWritten(const Json& number) {
  if (!number.is_number_integer()) return "<f8";
  const auto type = SmallestType(number);
  if (!type) return "";
  return fmt::format("{}{}{}", type->bits == 8 ? '|' : '<', type->is_signed ? 'i' : 'u',
                     type->bits / 8);
}

bool IsBeyondDouble(const Json& number) {
  if (!number.is_number_integer()) return IsLarge(number);
  constexpr int64_t kLargest = int64_t{1} << 53;
  const auto bits = ParseInteger(number, 64, /*is_signed=*/true);
  return !bits || static_cast<int64_t>(*bits) > kLargest || static_cast<int64_t>(*bits) < -kLargest;
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

struct CfUnit {
  std::string_view numpy;
  std::string_view cf;
};

// The CF units for numpy's date units. CF has no unit for calendar months and years, and its
// readers support no unit smaller than nanoseconds.
constexpr std::array kCfUnits = {
    CfUnit{"D", "days"},         CfUnit{"h", "hours"},         CfUnit{"m", "minutes"},
    CfUnit{"s", "seconds"},      CfUnit{"ms", "milliseconds"}, CfUnit{"us", "microseconds"},
    CfUnit{"ns", "nanoseconds"},
};

std::string_view CfUnitOf(const DataType& type) {
  const auto* found = std::ranges::find(kCfUnits, type.time_unit, &CfUnit::numpy);
  return type.time_scale == 1 && found != kCfUnits.end() ? found->cf : "";
}

// Removes the attribute `name`, whose value is invalid, and adds a line that says so to `notes`.
void LeaveOut(Json& attributes, const char* name, std::string_view wanted,
              std::vector<std::string>& notes) {
  notes.push_back(LeftOut(name, attributes[name], wanted));
  attributes.erase(name);
}

}  // namespace

std::string LeftOut(std::string_view name, const Json& value, std::string_view wanted) {
  return fmt::format("attribute {} left out: found {}, expected {}", name, Excerpt(value), wanted);
}

bool AreDimensionNames(const Json& value, size_t rank) {
  return value.is_array() && value.size() == rank &&
         std::ranges::all_of(
             value, [](const Json& name) { return name.is_null() || TextOf(name) != nullptr; });
}

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
    // Moves back to the start of a UTF-8 character, so none is cut in two.
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
  // Collects the members in a vector, because inserting into a Json object searches all its
  // members.
  Json::object_t plain;
  plain.reserve(attributes.size());
  std::set<std::string> names;
  for (const auto& [name, value] : attributes.items()) {
    if (name.empty()) continue;
    const auto [plain_name, is_new] = names.insert(PlainName(name));
    if (is_new) plain.emplace_back(*plain_name, Plain(value));
  }
  return plain;
}

void MakeStrict(Json& value) {
  if (const auto number = NonFinite(value); number && !std::isfinite(*number)) {
    value = std::isnan(*number) ? "NaN" : *number > 0 ? "Infinity" : "-Infinity";
  } else if (value.is_structured()) {
    for (Json& each : value) MakeStrict(each);
  }
}

Json WithValidFill(Json attributes, const DataType& type, std::vector<std::string>& notes) {
  const auto fill = attributes.find("_FillValue");
  if (fill != attributes.end() && !DecodeFillAttribute(*fill, type)) {
    LeaveOut(attributes, "_FillValue", type.name, notes);
  }
  return attributes;
}

Json WithBoolType(Json attributes, const DataType& type, std::vector<std::string>& notes) {
  const bool is_masked = attributes.contains("_FillValue") || attributes.contains("missing_value");
  if (type.kind != DataKind::kBool || is_masked) return attributes;
  if (attributes.contains("dtype")) {
    if (TextOf(attributes["dtype"]) != nullptr) return attributes;
    LeaveOut(attributes, "dtype", "text", notes);
  }
  attributes["dtype"] = "bool";
  return attributes;
}

Json WithCfTime(Json attributes, const DataType& type, std::vector<std::string>& notes) {
  const bool is_datetime = type.kind == DataKind::kDatetime;
  if (!is_datetime && type.kind != DataKind::kTimedelta) return attributes;
  attributes = WithValidFill(std::move(attributes), type, notes);
  for (const char* const name : {"units", "calendar"}) {
    const bool is_text = TextOf(MemberOrNull(attributes, name)) != nullptr;
    if (attributes.contains(name) && !is_text) LeaveOut(attributes, name, "text", notes);
  }
  const auto add = [&](const char* name, Json value) {
    if (!attributes.contains(name)) attributes[name] = std::move(value);
  };
  add("_FillValue", std::numeric_limits<int64_t>::min());
  if (attributes.contains("units")) return attributes;
  if (const std::string_view unit = CfUnitOf(type); unit.empty()) {
    add("zarr_dtype",
        fmt::format("{}64[{}{}]", is_datetime ? "datetime" : "timedelta",
                    type.time_scale == 1 ? "" : std::to_string(type.time_scale), type.time_unit));
  } else if (is_datetime) {
    add("units", fmt::format("{} since 1970-01-01", unit));
    add("calendar", "proleptic_gregorian");
  } else {
    add("units", unit);
  }
  return attributes;
}

}  // namespace zarrfs
