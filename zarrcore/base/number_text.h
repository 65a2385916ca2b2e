// NumberFrom(): parses a string as a number.
#pragma once

#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>

namespace zarrfs {

/// Parses `text` as a number. Returns nullopt unless all of `text` is a number in the range of T.
/// `base` is the base of an integer, 10 by default. Floating-point numbers take no `base`.
template <typename T, typename... Base>
[[nodiscard]] std::optional<T> NumberFrom(std::string_view text, Base... base) {
  T number{};
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number, base...);
  if (error != std::errc() || stop != end) return std::nullopt;
  return number;
}

}  // namespace zarrfs
