// Lists of options as after -o: "region=eu-west-1,anonymous".
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace zarrfs {

/// Splits the argument of -o at its commas; empty words are dropped. Commas after a backslash or
/// between double quotes (as in security contexts) do not split. Quotes are kept; a backslash
/// before a comma, a backslash or a double quote is removed.
[[nodiscard]] std::vector<std::string> SplitOptions(std::string_view list);

/// `option` as one word of such a list.
[[nodiscard]] std::string EscapeOption(std::string_view option);

/// The part before "=", or everything.
[[nodiscard]] std::string_view NameOfOption(std::string_view option);

}  // namespace zarrfs
