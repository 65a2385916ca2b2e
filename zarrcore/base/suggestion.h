// "did you mean …?": the known word closest to a mistyped one.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace zarrfs {

/// ": did you mean 'view'?", for a message about the unknown word; "" if no known word is close.
/// One letter in three may be wrong, missing, extra, or swapped with its neighbour.
[[nodiscard]] std::string DidYouMean(std::string_view word,
                                     std::span<const std::string_view> known);

}  // namespace zarrfs
