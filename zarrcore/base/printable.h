// Text from a store or another program, made fit for a log line or a terminal.
#ifndef ZARRCORE_BASE_PRINTABLE_H_
#define ZARRCORE_BASE_PRINTABLE_H_

#include <string>
#include <string_view>

namespace zarrfs {

/// `text` as one printable line: lines joined by "; ", other control characters as '?'.
[[nodiscard]] std::string OneLine(std::string_view text);

}  // namespace zarrfs

#endif  // ZARRCORE_BASE_PRINTABLE_H_
