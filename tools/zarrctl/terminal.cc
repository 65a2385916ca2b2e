#include "tools/zarrctl/terminal.h"

#include <fmt/format.h>
#include <sys/ioctl.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstdlib>

namespace zarrfs::ctl {
namespace {

ColorMode color_mode = ColorMode::kAuto;

std::string_view Variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// 0 unless the variable is a number.
uint64_t NumberIn(const char* name) {
  const std::string_view text = Variable(name);
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() ? number : 0;
}

}  // namespace

void SetColorMode(ColorMode mode) { color_mode = mode; }

bool IsTerminal(int fd) { return isatty(fd) == 1; }

bool IsColored(int fd) {
  if (color_mode != ColorMode::kAuto) return color_mode == ColorMode::kAlways;
  if (!Variable("NO_COLOR").empty()) return false;
  const std::string_view force = Variable("CLICOLOR_FORCE");
  if (!force.empty() && force != "0") return true;
  return IsTerminal(fd) && Variable("CLICOLOR") != "0" && Variable("TERM") != "dumb";
}

std::string Paint(std::string_view text, Style style, int fd) {
  if (text.empty() || !IsColored(fd)) return std::string(text);
  constexpr std::array kCodes = {1, 2, 31, 32, 33};
  return fmt::format("\033[{}m{}\033[0m", kCodes[static_cast<size_t>(style)], text);
}

TerminalSize SizeOfTerminal(int fd) {
  constexpr uint64_t kMax = 1000;
  TerminalSize size;
  winsize window = {};
  if (ioctl(fd, TIOCGWINSZ, &window) == 0) {
    if (window.ws_col > 0) size.columns = window.ws_col;
    if (window.ws_row > 0) size.lines = window.ws_row;
  }
  if (const uint64_t columns = NumberIn("COLUMNS")) size.columns = columns;
  if (const uint64_t lines = NumberIn("LINES")) size.lines = lines;
  return {std::min(size.columns, kMax), std::min(size.lines, kMax)};
}

bool TakesUtf8() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    std::string locale(Variable(name));
    if (locale.empty()) continue;
    std::ranges::transform(locale, locale.begin(),
                           [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return locale.find("utf-8") != std::string::npos || locale.find("utf8") != std::string::npos;
  }
  return false;
}

}  // namespace zarrfs::ctl
