// Encodes pictures as PNG files (ISO/IEC 15948), compressed by zlib.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace zarrfs::ctl {

struct Colour {
  uint8_t red = 0;
  uint8_t green = 0;
  uint8_t blue = 0;
  uint8_t alpha = 255;  // only for an entry of a palette
  bool operator==(const Colour&) const = default;
};

/// A picture: rows from top to bottom, pixels from left to right.
struct Pixels {
  uint32_t width = 0;
  uint32_t height = 0;
  // Up to 256 colours. Empty if each pixel has three bytes: red, green, blue.
  std::vector<Colour> palette = {};
  std::vector<uint8_t> bytes = {};  // one or three bytes per pixel

  [[nodiscard]] size_t pixel_bytes() const { return palette.empty() ? 3 : 1; }
};

/// Returns the contents of a PNG file. Width and height must not be 0, and `bytes` must contain all
/// pixels.
[[nodiscard]] std::string EncodePng(const Pixels& pixels);

}  // namespace zarrfs::ctl
