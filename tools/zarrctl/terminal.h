// What the terminal can do and what the user asked for: colours, width, characters.
#ifndef TOOLS_ZARRCTL_TERMINAL_H_
#define TOOLS_ZARRCTL_TERMINAL_H_

#include <unistd.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace zarrfs::ctl {

enum class ColorMode { kAuto, kAlways, kNever };

/// Called once, before anything is printed. Until then: kAuto.
void SetColorMode(ColorMode mode);

/// Whether what goes to `fd` has colours. kAuto: NO_COLOR (not empty) forbids them, else
/// CLICOLOR_FORCE (not empty, not 0) asks for them, else a terminal has them unless CLICOLOR is 0
/// or TERM is "dumb".
[[nodiscard]] bool IsColored(int fd);

enum class Style { kBold, kDim, kRed, kGreen, kYellow };

/// `text` in that style if `fd` has colours.
[[nodiscard]] std::string Paint(std::string_view text, Style style, int fd = STDOUT_FILENO);

[[nodiscard]] bool IsTerminal(int fd);

/// COLUMNS and LINES if they are set, else what the terminal at `fd` reports, else 80 x 40.
struct TerminalSize {
  uint64_t columns = 80;
  uint64_t lines = 40;
};
[[nodiscard]] TerminalSize SizeOfTerminal(int fd);

/// Whether the locale's characters are UTF-8, by its name: it need not be installed here to be the
/// terminal's.
[[nodiscard]] bool TakesUtf8();

}  // namespace zarrfs::ctl

#endif  // TOOLS_ZARRCTL_TERMINAL_H_
