// Makes strings from a store or another program safe for log lines, messages and terminals.
#pragma once

#include <string>
#include <string_view>

namespace zarrfs {

/// Returns `text` as one line for a log: its lines joined by "; ", other control characters
/// replaced by '?'.
[[nodiscard]] std::string OneLine(std::string_view text);

/// Replaces control characters, which a terminal would interpret, with \xNN.
[[nodiscard]] std::string Visible(std::string_view text);

/// Returns the first 100 bytes of `text`, with '?' for each byte that is not printable ASCII, and
/// "..." if bytes are omitted.
[[nodiscard]] std::string AsciiExcerpt(std::string_view text);

}  // namespace zarrfs
