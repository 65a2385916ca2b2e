// A map as a picture: title, the cells with chunk numbers along two sides, a legend, the summary.
#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "tools/zarrctl/map/map_view.h"
#include "tools/zarrctl/map/svg.h"
#include "tools/zarrctl/output.h"

namespace zarrfs::ctl {
namespace {

// Pixels.
constexpr double kMapWidth = 900;
constexpr double kMapHeight = 640;
constexpr double kMinMapWidth = 420;  // the legend's
constexpr double kMinMap = 28;
constexpr double kLargestCell = 28;
constexpr double kMargin = 24;
constexpr double kLine = 18;
constexpr double kTickLength = 5;
constexpr double kMinGapped = 5;  // cells from here on have a gap between them
constexpr double kLegendWidth = 240;
constexpr int kLegendSteps = 60;
constexpr double kSwatch = 12;

constexpr Color kNoShard = {0xd4, 0xd4, 0xd4};
constexpr Color kNotStored = {0xf4, 0xf1, 0xea};
constexpr Color kDamaged = {0xd6, 0x1f, 0x26};
constexpr Color kLineColor = {0x55, 0x55, 0x55};

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

// `value`: from 0 to 1, as MapScale gives it.
Color ColorOf(double value, MapBy by) {
  if (by == MapBy::kPresent) return Mix({0xbf, 0xd3, 0xe6}, {0x1f, 0x5f, 0x9e}, value);
  const double at = value * static_cast<double>(kViridis.size() - 1);
  const auto step = std::min(static_cast<size_t>(at), kViridis.size() - 2);
  return Mix(kViridis[step], kViridis[step + 1], at - static_cast<double>(step));
}

double TextWidth(std::string_view text) { return kTextAdvance * static_cast<double>(text.size()); }

// 1, 2 or 5 times a power of ten, at least `least`.
uint64_t RoundStep(double least) {
  uint64_t step = 1;
  for (;; step *= 10) {
    for (const uint64_t factor : {1u, 2u, 5u}) {
      if (static_cast<double>(factor * step) >= least) return factor * step;
    }
  }
}

class Picture {
 public:
  Picture(const ChunkSource& source, const ChunkMap& map, const MapWords& words)
      : source_(source), map_(map), words_(words), scale_(map) {
    const auto columns = static_cast<double>(std::max<uint64_t>(map.grid_columns, 1));
    const auto rows = static_cast<double>(std::max<uint64_t>(map.grid_rows, 1));
    const double cell = std::min({kMapWidth / columns, kMapHeight / rows, kLargestCell});
    const auto whole = [](double size) { return size > 1 ? std::floor(size) : size; };
    // Square, unless that would be too thin to see.
    cell_width_ = whole(std::max(cell, std::min(kMinMap / columns, kLargestCell)));
    cell_height_ = whole(std::max(cell, std::min(kMinMap / rows, kLargestCell)));
    width_ = columns * cell_width_;
    height_ = rows * cell_height_;
    const uint64_t last = map.is_folded ? map.places : map.rows;
    left_ = kMargin + kLine + TextWidth(std::to_string(last)) + kTickLength + 4;
    // Title, subtitle, axis, numbers.
    top_ = kMargin + 4 * kLine + kTickLength + 8;
    const double most_text = std::max(TextWidth(words.title), TextWidth(words.subtitle));
    page_width_ = std::max(left_ + std::max(width_, kMinMapWidth) + kMargin,
                           std::min(most_text, kMapWidth) + 2 * kMargin);
  }

  std::string Draw() {
    Title();
    if (map_.places > 0) {
      Cells();
      Boundaries();
      Axes();
    }
    Legend();
    const double legend_lines = 4 + static_cast<double>(words_.summary.size());
    return svg_.File(page_width_, top_ + height_ + kMargin + legend_lines * kLine + kMargin);
  }

 private:
  [[nodiscard]] double X(uint64_t column) const {
    return left_ + static_cast<double>(column) * cell_width_;
  }
  [[nodiscard]] double Y(uint64_t row) const {
    return top_ + static_cast<double>(row) * cell_height_;
  }
  // Pixels of a chunk.
  [[nodiscard]] double ChunkWidth() const {
    return cell_width_ / static_cast<double>(map_.cell_columns);
  }
  [[nodiscard]] double ChunkHeight() const {
    return cell_height_ / static_cast<double>(map_.cell_rows);
  }

  // The end of what is too long for the page: a path's end says more than its beginning.
  [[nodiscard]] std::string Fitting(const std::string& text) const {
    const auto most = static_cast<size_t>((page_width_ - 2 * kMargin) / kTextAdvance);
    if (text.size() <= most) return text;
    return "..." + text.substr(text.size() - (most - 3));
  }

  void Title() {
    const bool is_short = 1.4 * TextWidth(words_.title) < page_width_ - 2 * kMargin;
    svg_.Text(kMargin, kMargin + 10, Fitting(words_.title), Anchor::kStart, is_short);
    svg_.Text(kMargin, kMargin + 10 + kLine, Fitting(words_.subtitle), Anchor::kStart);
  }

  void Cells() {
    const double gap = std::min(cell_width_, cell_height_) >= kMinGapped ? 1 : 0;
    svg_.Rectangle(left_, top_, width_, height_, map_.has_shards() ? kNoShard : kNotStored,
                   "background");
    for (uint64_t r = 0; r < map_.grid_rows; ++r) {
      // What a stored shard leaves out: neighbours in one rectangle.
      for (uint64_t c = 0; c < map_.grid_columns;) {
        const uint64_t first = c;
        while (c < map_.grid_columns && map_.at(r, c).in_object) ++c;
        if (map_.has_shards() && c > first) {
          svg_.Rectangle(X(first), Y(r), static_cast<double>(c - first) * cell_width_, cell_height_,
                         kNotStored, "shard");
        }
        if (c == first) ++c;
      }
      for (uint64_t c = 0; c < map_.grid_columns; ++c) {
        const MapCell& cell = map_.at(r, c);
        if (cell.stored == 0 && cell.damaged == 0) continue;
        const bool is_damaged = cell.damaged > 0;
        svg_.Rectangle(X(c), Y(r), cell_width_ - gap, cell_height_ - gap,
                       is_damaged ? kDamaged : ColorOf(scale_(cell), map_.by),
                       is_damaged ? "damaged" : "chunk", DescribeCell(source_, map_, r, c));
      }
    }
    // The rest of a folded array's last row is no part of it.
    if (map_.is_folded) {
      uint64_t c = map_.grid_columns;
      while (c > 0 && map_.at(map_.grid_rows - 1, c - 1).places == 0) --c;
      if (c < map_.grid_columns) {
        svg_.Rectangle(X(c), Y(map_.grid_rows - 1),
                       static_cast<double>(map_.grid_columns - c) * cell_width_, cell_height_,
                       {0xff, 0xff, 0xff}, "outside");
      }
    }
  }

  // Whether shards go on in the next row of a folded map.
  [[nodiscard]] bool HasBrokenRows() const {
    return map_.is_folded && (map_.shard_columns == 0 || map_.columns % map_.shard_columns != 0);
  }

  // Between shards, where they are wide enough to be seen.
  void Boundaries() {
    if (!map_.has_shards() || HasBrokenRows()) return;
    const auto lines = [&](uint64_t count, uint64_t shard, double chunk, auto draw) {
      const double step = static_cast<double>(shard) * chunk;  // (0 where shards differ)
      if (step < kMinGapped) return;
      for (uint64_t at = shard; at < count; at += shard) {
        draw(static_cast<double>(at) * chunk);
      }
    };
    lines(map_.columns, map_.shard_columns, ChunkWidth(), [&](double x) {
      svg_.Rectangle(left_ + x - 1, top_, 1, height_, kLineColor, "boundary");
    });
    if (map_.is_folded) return;
    lines(map_.rows, map_.shard_rows, ChunkHeight(), [&](double y) {
      svg_.Rectangle(left_, top_ + y - 1, width_, 1, kLineColor, "boundary");
    });
  }

  // Chunk numbers at the middle of their cells.
  void Axes() {
    if (!words_.column_axis.empty()) {
      svg_.Text(left_ + width_ / 2, top_ - kTickLength - kLine,
                (map_.is_folded ? "chunk of the row, along " : "chunk along ") + words_.column_axis,
                width_ < kMinMapWidth / 2 ? Anchor::kStart : Anchor::kMiddle);
    }
    const double number = TextWidth(std::to_string(map_.columns) + "  ");
    const uint64_t step = RoundStep(std::max(number / ChunkWidth(), 1.0));
    for (uint64_t at = 0; at < map_.columns; at += step) {
      const uint64_t cell = at / map_.cell_columns;
      const double x = left_ + (static_cast<double>(cell) + 0.5) * cell_width_;
      svg_.Rectangle(x, top_ - kTickLength, 1, kTickLength - 1, kLineColor, "tick");
      svg_.Text(x, top_ - kTickLength - 3, std::to_string(at), Anchor::kMiddle);
    }
    if (map_.rows == 1 && words_.row_axis.empty()) return;
    const std::string title =
        map_.is_folded ? "first chunk of the row" : "chunk along " + words_.row_axis;
    // What is longer than the side it stands at would leave the page.
    if (TextWidth(title) < height_ + top_) {
      const double middle = kMargin + 2 * kLine + TextWidth(title) / 2;
      svg_.TextUpwards(kMargin + 6, std::max(top_ + height_ / 2, middle), title);
    }
    const uint64_t row_step = RoundStep(std::max(1.6 * kTextHeight / ChunkHeight(), 1.0));
    for (uint64_t at = 0; at < map_.rows; at += row_step) {
      const uint64_t cell = at / map_.cell_rows;
      const double y = top_ + (static_cast<double>(cell) + 0.5) * cell_height_;
      svg_.Rectangle(left_ - kTickLength, y, kTickLength - 1, 1, kLineColor, "tick");
      svg_.Text(left_ - kTickLength - 3, y + 4,
                std::to_string(map_.is_folded ? at * map_.columns : at), Anchor::kEnd);
    }
  }

  void Legend() {
    double y = top_ + height_ + kMargin;
    if (map_.stored > 0) {
      double x = left_;
      if (scale_.low == scale_.high) {
        x = Swatch(x, y, ColorOf(1, map_.by),
                   scale_.high + (map_.by == MapBy::kSize ? " each" : ""));
      } else {
        const double step = kLegendWidth / kLegendSteps;
        for (int i = 0; i < kLegendSteps; ++i) {
          svg_.Rectangle(x + i * step, y, step, kSwatch, ColorOf(i / (kLegendSteps - 1.0), map_.by),
                         "legend");
        }
        svg_.Text(x + kLegendWidth + 8, y + kSwatch - 2, scale_.what, Anchor::kStart);
        svg_.Text(x, y + kSwatch + 12, scale_.low, Anchor::kStart);
        svg_.Text(x + kLegendWidth, y + kSwatch + 12, scale_.high, Anchor::kEnd);
      }
    }
    y += 2 * kLine;
    double x = Swatch(left_, y, kNotStored, "not stored");
    if (map_.has_shards()) x = Swatch(x, y, kNoShard, "no shard");
    if (map_.damaged > 0) Swatch(x, y, kDamaged, "damaged or unreadable");
    y += kLine + kSwatch;
    for (const std::string& line : words_.summary) {
      svg_.Text(left_, y + kLine / 2, line, Anchor::kStart);
      y += kLine;
    }
  }

  double Swatch(double x, double y, Color color, std::string_view text) {
    svg_.Rectangle(x - 1, y - 1, kSwatch + 2, kSwatch + 2, kLineColor, "legend");
    svg_.Rectangle(x, y, kSwatch, kSwatch, color, "legend");
    svg_.Text(x + kSwatch + 6, y + kSwatch - 2, text, Anchor::kStart);
    return x + kSwatch + 6 + TextWidth(text) + 24;
  }

  const ChunkSource& source_;
  const ChunkMap& map_;
  const MapWords& words_;
  const MapScale scale_;
  double cell_width_ = 0, cell_height_ = 0;
  double left_ = 0, top_ = 0, width_ = 0, height_ = 0;  // of the map
  double page_width_ = 0;
  Svg svg_;
};

}  // namespace

std::string DrawPicture(const ChunkSource& source, const ChunkMap& map, const MapWords& words) {
  return Picture(source, map, words).Draw();
}

}  // namespace zarrfs::ctl
