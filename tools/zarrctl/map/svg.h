// A picture as an SVG file.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace zarrfs::ctl {

struct Color {
  uint8_t red = 0;
  uint8_t green = 0;
  uint8_t blue = 0;
};

enum class Anchor { kStart, kMiddle, kEnd };

/// Coordinates in pixels from the upper left corner.
class Svg {
 public:
  /// `kind`: its CSS class. `tooltip`: shown for what lies under the pointer.
  void Rectangle(double x, double y, double width, double height, Color color,
                 std::string_view kind, std::string_view tooltip = {});
  /// `y`: of the base line.
  void Text(double x, double y, std::string_view text, Anchor anchor, bool is_title = false);
  /// Read from below to above; `x`: of the base line; `y`: of the middle.
  void TextUpwards(double x, double y, std::string_view text);

  /// The bytes of the file.
  [[nodiscard]] std::string File(double width, double height) const;

 private:
  std::string text_;
};

/// Approximate width of a character, in pixels.
inline constexpr double kTextAdvance = 7;
inline constexpr double kTextHeight = 10;

}  // namespace zarrfs::ctl
