// JsonScanner: skips JSON values without building them.
#pragma once

#include <cstddef>
#include <string_view>

namespace zarrfs {

/// Scans one string, which must outlive the scanner. Accepts plain JSON, which is everything that
/// ParseJson() accepts except a byte order mark, escaped NUL characters, escaped surrogates,
/// numbers that may exceed the range of a double, and more than 64 levels. Does not limit the
/// number of values.
class JsonScanner {
 public:
  explicit JsonScanner(std::string_view text) : text_(text) {}

  /// Skips a value. False if the value is not plain JSON. `depth`: the number of containers around
  /// the value.
  [[nodiscard]] bool Value(int depth = 0);

  /// Skips an object. Calls `member`, a bool(std::string_view name), for each member. `name`
  /// includes its quotes; `member` must skip the value. False if the object is not plain JSON.
  template <typename Member>
  [[nodiscard]] bool Object(const Member& member) {
    if (!Take('{')) return false;
    if (Take('}')) return true;
    do {
      SkipSpace();
      const size_t begin = at_;
      if (!String()) return false;
      const std::string_view name = text_.substr(begin, at_ - begin);
      if (!Take(':') || !member(name)) return false;
    } while (Take(','));
    return Take('}');
  }

  /// True if the next value is an object. Skips white space before it.
  [[nodiscard]] bool IsAtObject() {
    SkipSpace();
    return at_ < text_.size() && text_[at_] == '{';
  }
  [[nodiscard]] bool IsAtEnd() {
    SkipSpace();
    return at_ == text_.size();
  }
  [[nodiscard]] size_t position() const { return at_; }
  [[nodiscard]] std::string_view From(size_t begin) const {
    return text_.substr(begin, at_ - begin);
  }

 private:
  void SkipSpace();
  bool Take(char wanted);
  bool Take(std::string_view wanted);
  bool Array(int depth);
  bool Literal();
  size_t Digits();
  bool Number();
  bool String();
  bool Escape();
  bool Utf8(unsigned char first);

  const std::string_view text_;
  size_t at_ = 0;
};

}  // namespace zarrfs
