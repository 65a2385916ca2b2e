// The colours of pictures and of maps of chunks.
#pragma once

#include <cstdint>
#include <vector>

#include "tools/zarrctl/page/png.h"

namespace zarrfs::ctl {

/// The colour for a number from 0 to 1 in matplotlib's viridis, which goes from dark to bright.
/// Equal steps look equal, also to colour-blind readers.
[[nodiscard]] Colour Viridis(double share);

inline constexpr Colour kTransparent = {0, 0, 0, 0};
inline constexpr Colour kDamagedColour = {0xd6, 0x1f, 0x26};
inline constexpr Colour kNotStoredColour = {0xf4, 0xf1, 0xea};
inline constexpr Colour kNoShardColour = {0xc8, 0xc8, 0xc8};
inline constexpr Colour kLineColour = {0x55, 0x55, 0x55};

/// A palette that begins with entries for special colours, followed by the colours for numbers from
/// 0 to 1.
class NumberPalette {
 public:
  explicit NumberPalette(std::vector<Colour> first);
  [[nodiscard]] const std::vector<Colour>& colours() const { return colours_; }
  /// Returns the palette entry for a number from 0 to 1.
  [[nodiscard]] uint8_t Of(double share) const;

 private:
  size_t first_;
  std::vector<Colour> colours_;
};

}  // namespace zarrfs::ctl
