// NumberFrom(): parses a number.
#pragma once

#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>

namespace zarrfs {

/// Parses a number. nullopt unless the whole string is a number in the range of T. `base` is the
/// base of an integer, 10 by default; it does not apply to floating-point numbers.
template <typename T, typename... Base>
[[nodiscard]] std::optional<T> NumberFrom(std::string_view text, Base... base) {
  T number{};
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number, base...);
  if (error != std::errc() || stop != end) return std::nullopt;
  return number;
}

}  // namespace zarrfs
