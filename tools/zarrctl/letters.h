// Letters for pictures, so that drawing needs no font on the machine.
#ifndef TOOLS_ZARRCTL_LETTERS_H_
#define TOOLS_ZARRCTL_LETTERS_H_

#include <array>
#include <cstdint>

namespace zarrfs::ctl {

inline constexpr uint32_t kLetterWidth = 5;  // pixels; one more between letters
inline constexpr uint32_t kLetterHeight = 8;
inline constexpr uint32_t kLetterBase = 7;  // rows above the base line

/// The columns of a letter from left to right; bit 0 is the uppermost row. A box for what is not
/// printable ASCII.
[[nodiscard]] std::array<uint8_t, kLetterWidth> Letter(char c);

}  // namespace zarrfs::ctl

#endif  // TOOLS_ZARRCTL_LETTERS_H_
