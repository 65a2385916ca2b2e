// Repairs text that the lenient ParseJson (json.h) could not parse, before it is parsed again.
#pragma once

#include <set>
#include <string>
#include <string_view>

namespace zarrfs {

/// Marks strings that stand for numbers that JSON lacks (NonFinite).
inline constexpr std::string_view kMarkInText = "\\u0000#";

struct RepairedJson {
  std::string text;
  std::set<std::string> changes;  // the replacements, in a few lines
};

/// A copy of `text` with all replacements of the lenient ParseJson, except those for depth.
[[nodiscard]] RepairedJson RepairJson(std::string_view text);

}  // namespace zarrfs
