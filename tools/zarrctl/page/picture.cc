#include "tools/zarrctl/page/picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "tools/zarrctl/output.h"
#include "tools/zarrctl/page/colours.h"
#include "tools/zarrctl/page/numbers.h"
#include "tools/zarrctl/page/plane_values.h"
#include "tools/zarrctl/page/png.h"

namespace zarrfs::ctl {
namespace {

constexpr uint32_t kCurveHeight = 96;
constexpr Colour kWhite = {255, 255, 255};

constexpr size_t kManyNumbers = 100;  // smaller pictures have no outliers
constexpr size_t kFewNumbers = 50;    // at each end, one number in kFewNumbers may be an outlier
// Outliers are ignored if all other numbers span less than this share of the whole range.
constexpr double kNarrow = 0.6;

// Each palette begins with entries that have fixed colours. The entries for numbers follow.
constexpr uint8_t kEmptyEntry = 0;
constexpr uint8_t kDamagedEntry = 1;
constexpr uint8_t kCurveEntry = 2;

NumberPalette PaletteOfPictures() {
  return NumberPalette({kTransparent, kDamagedColour, Viridis(0.45)});
}

// Returns the position of a value in its range, from 0 to 1. Computes with halves, because the
// difference of two doubles may overflow.
double Share(double value, double least, double greatest) {
  const double span = greatest / 2 - least / 2;
  return span > 0 ? std::clamp((value / 2 - least / 2) / span, 0.0, 1.0) : 0.5;
}

// The numbers that get the darkest and the brightest colour.
struct ColourRange {
  double least = 0;
  double greatest = 0;
};

// Returns the range of all numbers, without a few outliers far from the others.
ColourRange RangeOfColours(const PlaneValues::Grid& grid) {
  std::vector<double> sorted;
  for (const double value : grid.values) {
    if (!std::isnan(value)) sorted.push_back(value);
  }
  const ColourRange all{grid.least, grid.greatest};
  if (sorted.size() < kManyNumbers) return all;
  std::ranges::sort(sorted);
  const size_t few = sorted.size() / kFewNumbers;
  const ColourRange most{sorted[few], sorted[sorted.size() - 1 - few]};
  const bool is_narrow = most.greatest - most.least < (all.greatest - all.least) * kNarrow;
  return is_narrow && most.least < most.greatest ? most : all;
}

Pixels DrawPlane(const PlaneValues& values, const ColourRange& range) {
  const NumberPalette palette = PaletteOfPictures();
  const PlaneValues::Grid& grid = values.channels.front();
  Pixels pixels{.width = values.width, .height = values.height, .palette = palette.colours()};
  for (size_t i = 0; i < values.states.size(); ++i) {
    const double value = grid.values[i];
    const bool is_damaged = values.states[i] == PlaneValues::State::kDamaged;
    pixels.bytes.push_back(is_damaged ? kDamagedEntry
                           : std::isnan(value)
                               ? kEmptyEntry
                               : palette.Of(Share(value, range.least, range.greatest)));
  }
  return pixels;
}

// Draws a bar for each column, from its minimum to its maximum. Neighbouring bars touch.
Pixels DrawCurve(const PlaneValues& values) {
  const PlaneValues::Grid& grid = values.channels.front();
  const uint32_t scale = std::max<uint32_t>(1, 192 / values.width);
  Pixels pixels{.width = values.width * scale,
                .height = kCurveHeight,
                .palette = PaletteOfPictures().colours()};
  pixels.bytes.resize(size_t{pixels.width} * pixels.height, kEmptyEntry);
  const auto line_of = [&](double value) {
    return static_cast<int64_t>(
        std::lround((1 - Share(value, grid.least, grid.greatest)) * (kCurveHeight - 1)));
  };
  for (uint32_t column = 0; column < values.width; ++column) {
    const bool is_damaged = values.states[column] == PlaneValues::State::kDamaged;
    if (!is_damaged && std::isnan(grid.low[column])) continue;
    int64_t top = is_damaged ? 0 : line_of(grid.high[column]);
    int64_t bottom = is_damaged ? kCurveHeight - 1 : line_of(grid.low[column]);
    if (!is_damaged && column > 0 && !std::isnan(grid.low[column - 1])) {
      top = std::min(top, line_of(grid.low[column - 1]));
      bottom = std::max(bottom, line_of(grid.high[column - 1]));
    }
    for (int64_t y = top; y <= bottom; ++y) {
      for (uint32_t x = column * scale; x < (column + 1) * scale; ++x) {
        pixels.bytes[static_cast<size_t>(y) * pixels.width + x] =
            is_damaged ? kDamagedEntry : kCurveEntry;
      }
    }
  }
  return pixels;
}

// Draws the sum of the channels, each in shades from black to its own colour.
Pixels DrawChannels(const PlaneValues& values, const std::vector<OmeChannel>& channels) {
  Pixels pixels{.width = values.width, .height = values.height};
  pixels.bytes.reserve(3 * values.states.size());
  for (size_t i = 0; i < values.states.size(); ++i) {
    std::array<double, 3> sum{};
    for (size_t c = 0; c < channels.size(); ++c) {
      const PlaneValues::Grid& grid = values.channels[c];
      if (std::isnan(grid.values[i])) continue;
      const double start = channels[c].start.value_or(grid.least);
      const double end = channels[c].end.value_or(grid.greatest);
      const double share = Share(grid.values[i], start, end);
      const Colour colour = channels[c].colour.value_or(kWhite);
      sum[0] += share * colour.red;
      sum[1] += share * colour.green;
      sum[2] += share * colour.blue;
    }
    if (values.states[i] == PlaneValues::State::kDamaged) {
      sum = {double{kDamagedColour.red}, double{kDamagedColour.green}, double{kDamagedColour.blue}};
    }
    for (const double part : sum) {
      pixels.bytes.push_back(static_cast<uint8_t>(std::lround(std::min(part, 255.0))));
    }
  }
  return pixels;
}

// Returns the channels that `plane` shows, with their colours.
std::vector<OmeChannel> ChannelsOf(const Plane& plane, const OmeImage* image) {
  if (plane.is_rgb) {
    return {{.number = 0, .colour = Colour{255, 0, 0}, .start = 0, .end = 255},
            {.number = 1, .colour = Colour{0, 255, 0}, .start = 0, .end = 255},
            {.number = 2, .colour = Colour{0, 0, 255}, .start = 0, .end = 255}};
  }
  if (image == nullptr || image->is_label) return {};
  std::vector<OmeChannel> channels;
  for (const OmeChannel& channel : image->channels) {
    if (!plane.channel_axis && !channels.empty()) break;
    const bool is_read = !plane.channel_axis ||
                         std::ranges::find(plane.channels, channel.number) != plane.channels.end();
    if (is_read) channels.push_back(channel);
  }
  if (channels.empty()) channels.push_back({.number = 0});
  return channels;
}

// Describes channels in words: "channel 0 DAPI in #ff0000 from 0 to 1500".
std::string DescribeChannels(const std::vector<OmeChannel>& channels) {
  std::string text;
  for (const OmeChannel& channel : channels) {
    if (!text.empty()) text += ", ";
    text += fmt::format("{} {}", channel.number, channel.label);
    while (text.ends_with(' ')) text.pop_back();
    const Colour colour = channel.colour.value_or(kWhite);
    text += channel.colour
                ? fmt::format(" in #{:02x}{:02x}{:02x}", colour.red, colour.green, colour.blue)
                : " in grey";
    if (channel.start && channel.end) {
      text += fmt::format(" from {} to {}", *channel.start, *channel.end);
    }
  }
  return fmt::format("channel{} {}", channels.size() == 1 ? "" : "s", text);
}

void TurnOver(Pixels& pixels) {
  const size_t row = pixels.width * pixels.pixel_bytes();
  for (uint32_t y = 0; y < pixels.height / 2; ++y) {
    const auto above = pixels.bytes.begin() + static_cast<ptrdiff_t>(y * row);
    const auto below = pixels.bytes.end() - static_cast<ptrdiff_t>((y + 1) * row);
    std::swap_ranges(above, above + static_cast<ptrdiff_t>(row), below);
  }
}

void AddCounts(const PlaneValues& values, Picture& picture) {
  if (values.not_stored > 0) {
    picture.notes.push_back(fmt::format("{} of it not stored: the fill value",
                                        values.stored + values.failed + values.not_looked_at == 0
                                            ? "all"
                                            : CountText(values.not_stored, "chunk")));
  }
  if (values.not_looked_at > 0) {
    picture.notes.push_back(fmt::format("{} of it not examined: time ran out",
                                        CountText(values.not_looked_at, "chunk")));
  }
}

}  // namespace

Result<Picture> MakePicture(const ArrayMetadata& metadata, const ChunkSource& source,
                            const OmeImage* image, bool is_turned, const PageLimits& limits,
                            const std::function<bool()>& is_over) {
  const ArrayLayout& layout = source.layout();
  const auto numbers = ElementNumbers::Of(metadata.data_type);
  if (!numbers) {
    return Fail(ErrorCode::kUnsupported, "the elements are {}, not numbers",
                metadata.data_type.name);
  }
  if (!layout.inner_pipeline) return Fail(layout.inner_pipeline);
  const PlaneHints hints = image != nullptr ? image->HintsFor(metadata.shape) : PlaneHints{};
  const auto plane = ChoosePlane(metadata, layout, hints, limits);
  if (!plane) return Fail(plane);
  const std::vector<OmeChannel> channels = ChannelsOf(*plane, image);
  const PlaneValues values = ReadPlane(
      metadata, source, *plane, {.has_means = numbers->is_float() || !channels.empty()}, is_over);

  Picture picture;
  picture.place = DescribePlane(metadata, hints, *plane);
  if (!values.least.empty()) {
    picture.least = numbers->Text(values.least.data());
    picture.greatest = numbers->Text(values.greatest.data());
  }
  picture.failures = values.failures;
  picture.failed = values.failed;
  AddCounts(values, picture);
  picture.is_curve = !plane->row_axis;
  picture.has_scale = !picture.is_curve && channels.empty();
  if (!channels.empty()) picture.notes.push_back(DescribeChannels(channels));
  ColourRange range;
  if (picture.has_scale) {
    range = RangeOfColours(values.channels.front());
    const bool is_all = range.least == values.channels.front().least &&
                        range.greatest == values.channels.front().greatest;
    picture.darkest = is_all ? picture.least : fmt::format("≤ {:.6g}", range.least);
    picture.brightest = is_all ? picture.greatest : fmt::format("≥ {:.6g}", range.greatest);
  }
  Pixels pixels = picture.is_curve   ? DrawCurve(values)
                  : channels.empty() ? DrawPlane(values, range)
                                     : DrawChannels(values, channels);
  if (is_turned && plane->row_axis == metadata.rank() - 2) {
    TurnOver(pixels);
    picture.notes.push_back("drawn with north up: the first row is at the bottom");
  }
  picture.width = pixels.width;
  picture.height = pixels.height;
  picture.png = EncodePng(pixels);
  return picture;
}

}  // namespace zarrfs::ctl
