// Comma-separated lists of options, such as the argument of -o: "region=eu-west-1,anonymous".
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace zarrfs {

/// Splits the argument of -o at its commas, and drops empty words. Commas after a backslash or
/// between double quotes (as in security contexts) do not split. Quotes are kept. A backslash
/// before a comma, a backslash or a double quote is removed.
[[nodiscard]] std::vector<std::string> SplitOptions(std::string_view list);

/// Escapes `option`, so SplitOptions() returns it as one word.
[[nodiscard]] std::string EscapeOption(std::string_view option);

/// Returns the name of an option: the part before "=", or all of `option` if it has no "=".
[[nodiscard]] std::string_view NameOfOption(std::string_view option);

}  // namespace zarrfs
