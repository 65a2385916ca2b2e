// Text from a store or another program, made fit for log lines, messages and terminals.
#pragma once

#include <string>
#include <string_view>

namespace zarrfs {

/// `text` as one line of a log: lines joined by "; ", other control characters as '?'.
[[nodiscard]] std::string OneLine(std::string_view text);

/// `text` for a terminal, which would obey control characters: they become \xNN.
[[nodiscard]] std::string Visible(std::string_view text);

/// The first 100 bytes of `text` in printable ASCII, other bytes as '?'; "..." if there are more.
[[nodiscard]] std::string AsciiExcerpt(std::string_view text);

}  // namespace zarrfs
