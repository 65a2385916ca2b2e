// Repairs a document that the lenient ParseJson() in json.h failed to parse.
#pragma once

#include <set>
#include <string>
#include <string_view>

namespace zarrfs {

/// The prefix, in JSON text, of strings that represent numbers JSON cannot express; see
/// NonFinite().
inline constexpr std::string_view kMarkInText = "\\u0000#";

struct RepairedJson {
  std::string text;
  std::set<std::string> changes;  // descriptions of the replacements, at most 16
};

/// Returns `text` with all replacements of the lenient ParseJson(), except those of values nested
/// too deeply.
[[nodiscard]] RepairedJson RepairJson(std::string_view text);

}  // namespace zarrfs
