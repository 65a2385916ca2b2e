// Suggests the known word that is closest to a mistyped one.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace zarrfs {

/// Returns ": did you mean 'view'?" for appending to a message about an unknown word, or "" if no
/// known word is close. One letter in three may be wrong, missing, extra, or swapped with its
/// neighbour.
[[nodiscard]] std::string DidYouMean(std::string_view word,
                                     std::span<const std::string_view> known);

}  // namespace zarrfs
