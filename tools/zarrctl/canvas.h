// A picture that is drawn once and becomes an SVG or a PNG file.
#ifndef TOOLS_ZARRCTL_CANVAS_H_
#define TOOLS_ZARRCTL_CANVAS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "zarrcore/base/result.h"

namespace zarrfs::ctl {

struct Color {
  uint8_t red = 0;
  uint8_t green = 0;
  uint8_t blue = 0;
};

enum class Anchor { kStart, kMiddle, kEnd };

/// Coordinates in pixels from the upper left corner.
class Canvas {
 public:
  virtual ~Canvas() = default;

  /// `kind`: what it stands for, one word. `words`: shown for what lies under the pointer, where
  /// the format can.
  virtual void Rectangle(double x, double y, double width, double height, Color color,
                         std::string_view kind, std::string_view words = {}) = 0;
  /// `y`: of the base line. `size`: 1 or 2 (title).
  virtual void Text(double x, double y, std::string_view text, Anchor anchor, int size = 1) = 0;
  /// Read from below to above; `x`: of the base line; `y`: of the middle.
  virtual void TextUpwards(double x, double y, std::string_view text) = 0;

  /// The bytes of the file.
  [[nodiscard]] virtual Result<std::string> Finish() = 0;
};

/// Pixels that a text takes, at least in the narrower of the formats.
inline constexpr double kTextAdvance = 7;
inline constexpr double kTextHeight = 10;

[[nodiscard]] std::unique_ptr<Canvas> MakeSvgCanvas(uint32_t width, uint32_t height);
/// With letters of its own: ASCII; others are drawn as a box.
[[nodiscard]] std::unique_ptr<Canvas> MakePngCanvas(uint32_t width, uint32_t height);

}  // namespace zarrfs::ctl

#endif  // TOOLS_ZARRCTL_CANVAS_H_
