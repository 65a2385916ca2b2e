#include "zarrcore/metadata/json_scanner.h"

#include <algorithm>
#include <array>

namespace zarrfs {
namespace {

constexpr int kMaxDepth = 64;
// Maximum number of characters in a number. A longer number may exceed the range of a double.
constexpr size_t kMaxNumber = 40;
constexpr size_t kMaxExponent = 2;

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsHexDigit(char c) { return IsDigit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }

}  // namespace

bool JsonScanner::Value(int depth) {
  SkipSpace();
  if (depth > kMaxDepth || at_ == text_.size()) return false;
  switch (text_[at_]) {
    case '{':
      return Object([&](std::string_view /*name*/) { return Value(depth + 1); });
    case '[':
      return Array(depth);
    case '"':
      return String();
    default:
      return Literal() || Number();
  }
}

void JsonScanner::SkipSpace() {
  while (at_ < text_.size() &&
         (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t' || text_[at_] == '\r')) {
    ++at_;
  }
}

bool JsonScanner::Take(char wanted) {
  SkipSpace();
  if (at_ == text_.size() || text_[at_] != wanted) return false;
  ++at_;
  return true;
}

bool JsonScanner::Take(std::string_view wanted) {
  if (text_.substr(at_, wanted.size()) != wanted) return false;
  at_ += wanted.size();
  return true;
}

bool JsonScanner::Array(int depth) {
  if (!Take('[')) return false;
  if (Take(']')) return true;
  do {
    if (!Value(depth + 1)) return false;
  } while (Take(','));
  return Take(']');
}

bool JsonScanner::Literal() {
  static constexpr std::array<std::string_view, 6> kLiterals = {"true", "false",    "null",
                                                                "NaN",  "Infinity", "-Infinity"};
  return std::ranges::any_of(kLiterals, [&](std::string_view each) { return Take(each); });
}

size_t JsonScanner::Digits() {
  const size_t begin = at_;
  while (at_ < text_.size() && IsDigit(text_[at_])) ++at_;
  return at_ - begin;
}

bool JsonScanner::Number() {
  const size_t begin = at_;
  (void)Take(std::string_view("-"));
  const bool is_zero = at_ < text_.size() && text_[at_] == '0';
  const size_t digits = Digits();
  if (digits == 0 || (is_zero && digits > 1)) return false;
  if (Take(std::string_view(".")) && Digits() == 0) return false;
  if (Take(std::string_view("e")) || Take(std::string_view("E"))) {
    if (!Take(std::string_view("-"))) (void)Take(std::string_view("+"));
    const size_t exponent = Digits();
    if (exponent == 0 || exponent > kMaxExponent) return false;
  }
  return at_ - begin <= kMaxNumber;
}

bool JsonScanner::String() {
  if (at_ == text_.size() || text_[at_] != '"') return false;
  ++at_;
  while (at_ < text_.size()) {
    const auto byte = static_cast<unsigned char>(text_[at_]);
    if (byte == '"') {
      ++at_;
      return true;
    }
    if (byte == '\\' ? !Escape() : byte >= 0x80 ? !Utf8(byte) : byte < ' ') return false;
    if (byte != '\\' && byte < 0x80) ++at_;
  }
  return false;
}

bool JsonScanner::Escape() {
  if (at_ + 1 >= text_.size()) return false;
  const char kind = text_[at_ + 1];
  at_ += 2;
  if (kind != 'u') return std::string_view("\"\\/bfnrt").find(kind) != std::string_view::npos;
  const std::string_view digits = text_.substr(at_, 4);
  if (digits.size() < 4 || !std::ranges::all_of(digits, IsHexDigit)) return false;
  // Refuse escaped surrogates, because they may be unpaired, and the escaped NUL, because
  // ParseJson() marks bare literals with it.
  const bool is_half = (digits[0] == 'd' || digits[0] == 'D') && digits[1] >= '8';
  if (is_half || digits == "0000") return false;
  at_ += 4;
  return true;
}

// See table 3-7 of the Unicode Standard, "Well-Formed UTF-8 Byte Sequences".
bool JsonScanner::Utf8(unsigned char first) {
  const size_t length = first < 0xc2   ? 0
                        : first < 0xe0 ? 2
                        : first < 0xf0 ? 3
                        : first < 0xf5 ? 4
                                       : 0;
  if (length == 0 || text_.size() - at_ < length) return false;
  const auto second = static_cast<unsigned char>(text_[at_ + 1]);
  const unsigned char least = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
  const unsigned char most = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
  if (second < least || second > most) return false;
  for (size_t i = 2; i < length; ++i) {
    if ((static_cast<unsigned char>(text_[at_ + i]) & 0xc0) != 0x80) return false;
  }
  at_ += length;
  return true;
}

}  // namespace zarrfs
