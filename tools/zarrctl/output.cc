#include "tools/zarrctl/output.h"

#include <sys/ioctl.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <optional>

#include "zarrcore/base/number_text.h"
#include "zarrcore/base/printable.h"

namespace zarrfs::ctl {
namespace {

std::optional<bool> is_colored;  // nullopt until SetColored() is called

std::string_view Variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// Returns the number in an environment variable; 0 if it contains no number.
uint64_t NumberInVariable(const char* name) {
  return NumberFrom<uint64_t>(Variable(name)).value_or(0);
}

// Counts the characters of a UTF-8 string, without colour codes.
size_t Width(std::string_view text) {
  size_t width = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\033')
      i = std::min(text.find('m', i), text.size() - 1);
    else if ((static_cast<unsigned char>(text[i]) & 0xC0) != 0x80)
      ++width;
  }
  return width;
}

}  // namespace

void SetColored(bool colored) { is_colored = colored; }

bool IsTerminal(int fd) { return isatty(fd) == 1; }

bool IsColored(int fd) {
  if (is_colored) return *is_colored;
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
  if (const uint64_t columns = NumberInVariable("COLUMNS")) size.columns = columns;
  if (const uint64_t lines = NumberInVariable("LINES")) size.lines = lines;
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

void Write(std::string_view text) { std::fwrite(text.data(), 1, text.size(), stdout); }

int FinishOutput(int code) {
  errno = 0;
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return code;
  return Complain(fmt::format("standard output: {}", errno != 0 ? ErrnoText(errno) : "not written"),
                  kExitSystem);
}

int Complain(std::string_view message, int code) {
  const std::string line =
      fmt::format("{} {}\n", Paint("zarrctl:", Style::kRed, STDERR_FILENO), Visible(message));
  std::fwrite(line.data(), 1, line.size(), stderr);
  return code;
}

int Complain(const Error& error) {
  constexpr std::array kWrong = {ErrorCode::kInvalidArgument, ErrorCode::kDamaged,
                                 ErrorCode::kUnsupported, ErrorCode::kTooLarge};
  const bool is_wrong = std::ranges::find(kWrong, error.code) != kWrong.end();
  return Complain(error.message, is_wrong ? kExitWrong : kExitSystem);
}

bool IsDamage(const Error& error) {
  return error.code == ErrorCode::kDamaged || error.code == ErrorCode::kLinkRefused ||
         error.code == ErrorCode::kZarrfsMount;
}

std::string WithoutKey(std::string_view message, std::string_view key) {
  if (message.starts_with(key) && message.substr(key.size()).starts_with(": ")) {
    message.remove_prefix(key.size() + 2);
  }
  return std::string(message);
}

std::string KeyOf(std::string_view message, std::string_view folder) {
  const std::string_view key = message.substr(0, message.find(": "));
  const bool is_below =
      !folder.empty() && key.starts_with(folder) && key.substr(folder.size()).starts_with('/');
  return std::string(is_below ? key : folder);
}

std::string SizeText(uint64_t bytes) {
  if (bytes < 1024) return CountText(bytes, "byte");
  constexpr std::array kUnits = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  double value = static_cast<double>(bytes) / 1024;
  size_t unit = 0;
  for (; value >= 1024 && unit + 1 < kUnits.size(); ++unit) value /= 1024;
  return fmt::format("{:.1f} {}", value, kUnits[unit]);
}

std::string GroupedText(uint64_t number) {
  std::string text = std::to_string(number);
  for (size_t end = text.size(); end > 3;) text.insert(end -= 3, ",");
  return text;
}

std::string CountText(uint64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

void Table::Print() const {
  std::vector<size_t> widths;
  for (const auto& row : rows_) {
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t i = 0; i + 1 < row.size(); ++i) widths[i] = std::max(widths[i], Width(row[i]));
  }
  for (const auto& row : rows_) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      line += row[i];
      if (i + 1 < row.size()) line.append(widths[i] - Width(row[i]) + 2, ' ');
    }
    line.erase(line.find_last_not_of(' ') + 1);
    Write(line + "\n");
  }
}

}  // namespace zarrfs::ctl
