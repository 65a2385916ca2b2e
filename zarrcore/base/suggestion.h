// "did you mean …?": the known word that a mistyped one is nearest to.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace zarrfs {

/// ": did you mean 'view'?", for a message about the unknown word; "" if none of the known words is
/// near. One letter in three may be wrong, missing, too many, or swapped with its neighbour.
[[nodiscard]] std::string DidYouMean(std::string_view word,
                                     std::span<const std::string_view> known);

}  // namespace zarrfs
