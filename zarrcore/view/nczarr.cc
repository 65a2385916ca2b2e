#include "zarrcore/view/nczarr.h"

#include <vector>

namespace zarrfs {
namespace {

bool IsNotes(const Json& value) {
  if (value.is_object()) return true;
  const std::string* const text = TextOf(value);
  if (text == nullptr || !text->starts_with('{')) return false;
  const auto parsed = ParseJson(*text, "");
  return parsed && parsed->is_object();
}

}  // namespace

bool IsNczarrName(std::string_view name) {
  return name.starts_with("_NCZARR_") || name.starts_with("_nczarr_");
}

Json WithoutNczarr(Json attributes) {
  std::vector<std::string> names;
  for (const auto& [name, value] : attributes.items()) {
    if (IsNczarrName(name) && IsNotes(value)) names.push_back(name);
  }
  for (const std::string& name : names) attributes.erase(name);
  return attributes;
}

}  // namespace zarrfs
