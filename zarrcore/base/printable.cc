#include "zarrcore/base/printable.h"

#include <fmt/format.h>

namespace zarrfs {
namespace {

constexpr size_t kMaxExcerpt = 100;

bool IsControl(char c) { return static_cast<unsigned char>(c) < ' ' || c == 0x7f; }

}  // namespace

std::string OneLine(std::string_view text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.remove_suffix(1);
  std::string line;
  for (const char c : text) line += c == '\n' ? "; " : std::string(1, IsControl(c) ? '?' : c);
  return line;
}

std::string Visible(std::string_view text) {
  std::string visible;
  for (const char c : text) {
    visible += IsControl(c) ? fmt::format("\\x{:02x}", c) : std::string(1, c);
  }
  return visible;
}

std::string AsciiExcerpt(std::string_view text) {
  std::string excerpt(text.substr(0, kMaxExcerpt));
  for (char& c : excerpt) {
    if (c < ' ' || c > '~') c = '?';
  }
  return text.size() > kMaxExcerpt ? excerpt + "..." : excerpt;
}

}  // namespace zarrfs
