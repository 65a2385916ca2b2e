#include "zarrcore/metadata/json_repair.h"

#include <fmt/format.h>
#include <utf8.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <utility>

#include "zarrcore/base/printable.h"

namespace zarrfs {
namespace {

constexpr size_t kMaxNotes = 16;  // maximum number of messages about replacements per document

// The UTF-16 code unit of an escape "\uXXXX" at the beginning of `text`; nullopt if `text` begins
// with something else.
std::optional<unsigned> EscapedUnit(std::string_view text) {
  constexpr size_t kLength = 6;
  if (text.size() < kLength || !text.starts_with("\\u")) return std::nullopt;
  unsigned unit = 0;
  const char* const end = text.data() + kLength;
  const auto [last, error] = std::from_chars(text.data() + 2, end, unit, 16);
  return error == std::errc() && last == end ? std::optional(unit) : std::nullopt;
}

class Repair {
 public:
  explicit Repair(std::string_view text) : text_(text) {
    repaired_.reserve(text.size() + 1024);
    while (at_ < text_.size()) {
      if (text_[at_] == '"') {
        String();
      } else if (text_[at_] == '-' || (text_[at_] >= '0' && text_[at_] <= '9')) {
        Number();
      } else {
        Copy(1);
      }
    }
  }

  [[nodiscard]] RepairedJson Take() { return {std::move(repaired_), std::move(changes_)}; }

 private:
  [[nodiscard]] std::string_view rest() const { return text_.substr(at_); }
  void Copy(size_t length) {
    repaired_.append(text_, at_, length);
    at_ += std::min(length, text_.size() - at_);
  }
  void Replace(size_t length, std::string_view by, std::string_view change) {
    repaired_ += by;
    at_ += length;
    if (changes_.size() < kMaxNotes) changes_.emplace(change);
  }

  void String() {
    Copy(1);
    if (rest().starts_with(kMarkInText)) {
      Replace(kEscapeLength, "\\ufffd",
              "\\u0000# at the beginning of a string is read as U+FFFD #");
    }
    while (at_ < text_.size() && text_[at_] != '"') {
      if (text_[at_] == '\\') {
        Escape();
      } else {
        Characters();
      }
    }
    Copy(1);
  }
  void Characters() {
    const size_t end = at_ + std::min(rest().find_first_of("\"\\"), rest().size());
    while (at_ < end) {
      const std::string_view characters = text_.substr(at_, end - at_);
      Copy(std::min(utf8::find_invalid(characters), characters.size()));
      if (at_ < end) {
        Replace(1, "\xef\xbf\xbd", "bytes that are not UTF-8 are read as U+FFFD");
      }
    }
  }
  void Escape() {
    const auto unit = EscapedUnit(rest());
    if (!unit || *unit < 0xd800 || *unit > 0xdfff) return Copy(unit ? kEscapeLength : 2);
    const auto next =
        at_ + kEscapeLength <= text_.size() ? EscapedUnit(text_.substr(at_ + kEscapeLength)) : unit;
    if (*unit < 0xdc00 && next && *next >= 0xdc00 && *next <= 0xdfff) {
      return Copy(2 * kEscapeLength);
    }
    Replace(kEscapeLength, "\\ufffd", "half a surrogate pair is read as U+FFFD");
  }
  void Number() {
    const size_t length = std::min(rest().find_first_not_of("+-.0123456789eE"), rest().size());
    const std::string number(rest().substr(0, length));
    char* end = nullptr;
    if (!std::isinf(std::strtod(number.c_str(), &end)) || *end != '\0') return Copy(length);
    const std::string_view infinity = number[0] == '-' ? "-Infinity" : "Infinity";
    Replace(length, infinity, fmt::format("{} is read as {}", AsciiExcerpt(number), infinity));
  }

  static constexpr size_t kEscapeLength = 6;
  const std::string_view text_;
  size_t at_ = 0;
  std::string repaired_;
  std::set<std::string> changes_;
};

}  // namespace

RepairedJson RepairJson(std::string_view text) { return Repair(text).Take(); }

}  // namespace zarrfs
