#include "zarrcore/metadata/nczarr.h"

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

// Returns a member of one of netCDF-C's attributes, under its new or its old name. netCDF-C 4.9.3
// renamed the attributes and their members.
const Json& NoteOf(const Json& attributes, const char* notes, const char* member,
                   const char* old_notes, const char* old_member) {
  const Json& found = MemberOrNull(MemberOrNull(attributes, notes), member);
  return found.is_null() ? MemberOrNull(MemberOrNull(attributes, old_notes), old_member) : found;
}

}  // namespace

std::vector<std::string> NczarrDimensions(const Json& attributes, size_t rank) {
  const Json& paths =
      NoteOf(attributes, "_nczarr_array", "dimension_references", "_NCZARR_ARRAY", "dimrefs");
  std::vector<std::string> names;
  if (!paths.is_array() || paths.size() != rank) return names;
  for (const Json& path : paths) {
    const std::string* const text = TextOf(path);
    if (text == nullptr) return {};
    // The entry may be a path such as "/group/x", which ends with the dimension's name.
    names.push_back(text->substr(text->rfind('/') + 1));
    if (names.back().empty()) return {};
  }
  return names;
}

bool IsNczarrScalar(const Json& attributes) {
  const Json& scalar = NoteOf(attributes, "_nczarr_array", "scalar", "_NCZARR_ARRAY", "storage");
  return scalar == 1 || scalar == true || scalar == "scalar";
}

std::string NczarrTypeOf(const Json& attributes, std::string_view name) {
  const Json& types = NoteOf(attributes, "_nczarr_attr", "types", "_NCZARR_ATTR", "types");
  const std::string* const type = TextOf(MemberOrNull(types, name));
  return type == nullptr ? "" : *type;
}

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
