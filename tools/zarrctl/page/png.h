// Pictures as PNG files (ISO/IEC 15948), compressed by zlib.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace zarrfs::ctl {

struct Colour {
  uint8_t red = 0;
  uint8_t green = 0;
  uint8_t blue = 0;
  uint8_t alpha = 255;  // of an entry of a palette
  bool operator==(const Colour&) const = default;
};

/// Rows from top to bottom, pixels from left to right.
struct Pixels {
  uint32_t width = 0;
  uint32_t height = 0;
  std::vector<Colour> palette = {};  // up to 256; empty: pixels are three bytes, red, green, blue
  std::vector<uint8_t> bytes = {};   // a byte or three a pixel

  [[nodiscard]] size_t pixel_bytes() const { return palette.empty() ? 3 : 1; }
};

/// The bytes of the file. Neither side may be 0, and `bytes` must have all pixels.
[[nodiscard]] std::string EncodePng(const Pixels& pixels);

}  // namespace zarrfs::ctl
