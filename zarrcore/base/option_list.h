// Lists of options as after -o: "region=eu-west-1,anonymous".
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace zarrfs {

/// Splits a list as after -o at its commas, without empty words. Commas after a backslash or
/// between double quotes (as in security contexts) do not split. The quotes stay; the backslash
/// before a comma, a backslash or a double quote does not.
[[nodiscard]] std::vector<std::string> SplitOptions(std::string_view list);

/// `option` as one word of such a list.
[[nodiscard]] std::string EscapeOption(std::string_view option);

/// What comes before "=", or everything.
[[nodiscard]] std::string_view NameOfOption(std::string_view option);

}  // namespace zarrfs
