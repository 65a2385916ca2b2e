#include "zarrcore/metadata/consolidated_member.h"

#include <cstddef>
#include <span>

#include "zarrcore/metadata/json.h"
#include "zarrcore/metadata/json_scanner.h"

namespace zarrfs {
namespace {

using Names = std::optional<std::vector<std::string>>;

constexpr std::string_view kConsolidatedMember = "consolidated_metadata";
constexpr std::string_view kNodesMember = "metadata";

bool IsNamed(std::string_view quoted, std::string_view name) {
  return quoted.substr(1, quoted.size() - 2) == name;
}

bool IsEscaped(std::string_view text) { return text.find('\\') != text.npos; }

std::string Unquoted(std::string_view name) {
  if (!IsEscaped(name)) return std::string(name.substr(1, name.size() - 2));
  const auto json = ParseJson(name, "");
  return json && json->is_string() ? json->get<std::string>() : std::string();
}

// Returns the path, as member names, of the object whose members are the consolidated nodes or
// documents.
std::vector<std::string_view> WayTo(std::string_view key) {
  if (key.ends_with(".zmetadata")) return {kNodesMember};
  return {kConsolidatedMember, kNodesMember};
}

// Collects the member names of the object at the path `way`. False if the scanner cannot read the
// document, so ParseJson() must parse it.
bool Scan(JsonScanner& scanner, std::span<const std::string_view> way, Names& names) {
  if (way.empty()) names.emplace();  // drops the names of an earlier member of the same name
  return scanner.Object([&](std::string_view name) {
    if (way.empty()) {
      names->push_back(Unquoted(name));
    } else if (IsEscaped(name)) {
      return false;
    } else if (IsNamed(name, way.front())) {
      names.reset();
      if (scanner.IsAtObject()) return Scan(scanner, way.subspan(1), names);
    }
    return scanner.Value(1);
  });
}

}  // namespace

void EraseConsolidated(std::string& text) {
  JsonScanner scanner(text);
  size_t begin = 0;
  size_t end = 0;
  bool is_group = false;  // consolidated_metadata has no meaning in an array
  const bool is_plain = scanner.Object([&](std::string_view name) {
    // Leave `text` unchanged if consolidated_metadata is repeated, because only the last one
    // counts, or if a name is escaped, because it may spell consolidated_metadata.
    const bool is_it = IsNamed(name, kConsolidatedMember);
    if (IsEscaped(name) || (is_it && (end > 0 || !scanner.IsAtObject()))) return false;
    const size_t at = scanner.position();
    if (!scanner.Value(1)) return false;
    if (is_it) begin = at, end = scanner.position();
    if (IsNamed(name, "node_type")) is_group = scanner.From(at).ends_with("\"group\"");
    return true;
  });
  if (!is_plain || !is_group || end == 0 || !scanner.IsAtEnd()) return;
  text.replace(begin, end - begin, "{}");
  text.shrink_to_fit();
}

Result<Names> ConsolidatedNames(std::string_view text, std::string_view key) {
  const std::vector<std::string_view> way = WayTo(key);
  Names names;
  JsonScanner scanner(text);
  if (Scan(scanner, way, names) && scanner.IsAtEnd()) return names;
  const auto json = ParseJson(text, key);
  if (!json) return Fail(json);
  const Json* object = &*json;
  for (const std::string_view name : way) object = &MemberOrNull(*object, name);
  if (!object->is_object()) return Names();
  names.emplace();
  for (const auto& [name, value] : object->items()) names->push_back(name);
  return names;
}

}  // namespace zarrfs
