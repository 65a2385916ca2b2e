// Repairs a document that the lenient ParseJson() in json.h failed to parse.
#pragma once

#include <set>
#include <string>
#include <string_view>

namespace zarrfs {

/// How strings that ParseJson() creates for bare NaN, Infinity and large integers begin, as JSON
/// text; see NonFinite().
inline constexpr std::string_view kMarkInText = "\\u0000#";

struct RepairedJson {
  std::string text;
  std::set<std::string> changes;  // what was replaced, as messages for users; at most 16
};

/// Makes the replacements of the lenient ParseJson() in `text`, except for values nested too
/// deeply.
[[nodiscard]] RepairedJson RepairJson(std::string_view text);

}  // namespace zarrfs
