#include "tools/zarrctl/page/colours.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace zarrfs::ctl {
namespace {

constexpr size_t kPalette = 256;

constexpr std::array<Colour, 9> kViridis = {{{0x44, 0x01, 0x54},
                                             {0x47, 0x2d, 0x7b},
                                             {0x3b, 0x52, 0x8b},
                                             {0x2c, 0x72, 0x8e},
                                             {0x21, 0x91, 0x8c},
                                             {0x28, 0xae, 0x80},
                                             {0x5e, 0xc9, 0x62},
                                             {0xad, 0xdc, 0x30},
                                             {0xfd, 0xe7, 0x25}}};

uint8_t Mix(uint8_t a, uint8_t b, double share) {
  return static_cast<uint8_t>(std::lround(a + (b - a) * share));
}

}  // namespace

Colour Viridis(double share) {
  const double at = std::clamp(share, 0.0, 1.0) * static_cast<double>(kViridis.size() - 1);
  const auto step = std::min(static_cast<size_t>(at), kViridis.size() - 2);
  const double rest = at - static_cast<double>(step);
  const Colour& a = kViridis[step];
  const Colour& b = kViridis[step + 1];
  return {Mix(a.red, b.red, rest), Mix(a.green, b.green, rest), Mix(a.blue, b.blue, rest)};
}

NumberPalette::NumberPalette(std::vector<Colour> first)
    : first_(first.size()), colours_(std::move(first)) {
  const auto last = static_cast<double>(kPalette - first_ - 1);
  for (size_t i = first_; i < kPalette; ++i) {
    colours_.push_back(Viridis(static_cast<double>(i - first_) / last));
  }
}

uint8_t NumberPalette::Of(double share) const {
  const auto last = static_cast<double>(kPalette - first_ - 1);
  return static_cast<uint8_t>(
      std::lround(static_cast<double>(first_) + std::clamp(share, 0.0, 1.0) * last));
}

}  // namespace zarrfs::ctl
