// What the lenient ParseJson (json.h) makes of a text before it is parsed again.
#pragma once

#include <set>
#include <string>
#include <string_view>

namespace zarrfs {

/// How a text marks strings that stand for numbers which JSON does not have (NonFinite).
inline constexpr std::string_view kMarkInText = "\\u0000#";

struct RepairedJson {
  std::string text;
  std::set<std::string> changes;  // what was replaced, a few lines
};

/// A copy of `text` with everything replaced that the lenient ParseJson replaces, except depth.
[[nodiscard]] RepairedJson RepairJson(std::string_view text);

}  // namespace zarrfs
