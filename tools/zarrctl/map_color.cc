#include "tools/zarrctl/map_color.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace zarrfs::ctl {
namespace {

// matplotlib's viridis, in nine steps: also for readers who are colour-blind.
constexpr std::array<Color, 9> kViridis = {{{0x44, 0x01, 0x54},
                                            {0x47, 0x2d, 0x7b},
                                            {0x3b, 0x52, 0x8b},
                                            {0x2c, 0x72, 0x8e},
                                            {0x21, 0x91, 0x8c},
                                            {0x28, 0xae, 0x80},
                                            {0x5e, 0xc9, 0x62},
                                            {0xad, 0xdc, 0x30},
                                            {0xfd, 0xe7, 0x25}}};

Color Mix(Color a, Color b, double share) {
  const auto mix = [share](uint8_t x, uint8_t y) {
    return static_cast<uint8_t>(std::lround(x + (y - x) * share));
  };
  return {mix(a.red, b.red), mix(a.green, b.green), mix(a.blue, b.blue)};
}

}  // namespace

Color ColorOf(double value, MapBy by) {
  if (by == MapBy::kPresent) return Mix({0xbf, 0xd3, 0xe6}, {0x1f, 0x5f, 0x9e}, value);
  const double at = value * static_cast<double>(kViridis.size() - 1);
  const auto step = std::min(static_cast<size_t>(at), kViridis.size() - 2);
  return Mix(kViridis[step], kViridis[step + 1], at - static_cast<double>(step));
}

}  // namespace zarrfs::ctl
