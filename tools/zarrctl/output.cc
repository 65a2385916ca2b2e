#include "tools/zarrctl/output.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "tools/zarrctl/terminal.h"
#include "zarrcore/base/printable.h"

namespace zarrfs::ctl {
namespace {

// Characters of UTF-8 text: every byte but those that continue one, and colours.
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

void Write(std::string_view text) { std::fwrite(text.data(), 1, text.size(), stdout); }

int FinishOutput(int code) {
  errno = 0;
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return code;
  Complain(fmt::format("standard output: {}", errno != 0 ? std::strerror(errno) : "not written"));
  return kExitSystem;
}

void Complain(std::string_view message) {
  const std::string line =
      fmt::format("{} {}\n", Paint("zarrctl:", Style::kRed, STDERR_FILENO), Visible(message));
  std::fwrite(line.data(), 1, line.size(), stderr);
}

int Complain(const Error& error) {
  Complain(error.message);
  switch (error.code) {
    case ErrorCode::kInvalidArgument:
    case ErrorCode::kDamaged:
    case ErrorCode::kUnsupported:
    case ErrorCode::kTooLarge:
      return kExitWrong;
    default:
      return kExitSystem;
  }
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
  while (value >= 1024 && unit + 1 < kUnits.size()) {
    value /= 1024;
    ++unit;
  }
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
