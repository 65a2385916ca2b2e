#include "zarrcore/view/v2_attributes.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace zarrfs {
namespace {

std::vector<std::string> GivenNames(const ArrayMetadata& metadata) {
  std::vector<std::string> names(metadata.rank());
  const auto given = metadata.attributes.find(kDimensionsAttribute);
  if (given != metadata.attributes.end() && given->is_array() && given->size() == names.size() &&
      std::ranges::all_of(*given,
                          [](const Json& name) { return name.is_string() && !NonFinite(name); })) {
    return given->get<std::vector<std::string>>();
  }
  for (size_t d = 0; d < names.size() && metadata.dimension_names; ++d) {
    names[d] = (*metadata.dimension_names)[d].value_or("");
  }
  return names;
}

bool IsNumber(const Json& value) {
  return value.is_number() || NonFinite(value);
}

Json Plain(Json value) {
  if (NonFinite(value) || value.is_number() || value.is_boolean() || value.is_string() ||
      value.is_object()) {
    return value;
  }
  if (value.is_array() && !value.empty() && std::ranges::all_of(value, IsNumber)) {
    if (std::ranges::any_of(
            value, [](const Json& n) { return n.is_number_float() || NonFinite(n); })) {
      for (Json& number : value) {
        if (number.is_number_integer()) number = number.get<double>();
      }
    }
    return value;
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
    if (plain) std::ranges::replace(name, '/', '_');
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

Json PlainAttributes(Json attributes) {
  for (auto& [name, value] : attributes.items()) value = Plain(std::move(value));
  return attributes;
}

}  // namespace zarrfs
