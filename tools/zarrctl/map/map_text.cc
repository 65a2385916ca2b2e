// Draws a map of characters: one character per cell, or several that show the chunk's number in its
// shard.
#include <algorithm>
#include <array>
#include <cstddef>

#include "tools/zarrctl/map/map_view.h"
#include "tools/zarrctl/output.h"

namespace zarrfs::ctl {
namespace {

constexpr uint64_t kWideMap = 60;  // cells of narrower maps are two characters wide, about square

size_t Digits(uint64_t number) { return std::to_string(number).size(); }

// The width of a row's label and the blank after it.
uint64_t LabelWidth(uint64_t rows) { return Digits(rows > 0 ? rows - 1 : 0) + 1; }

using Levels = std::array<std::string_view, 8>;
constexpr Levels kBars = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
constexpr Levels kShades = {"░", "░", "▒", "▒", "▓", "▓", "█", "█"};
constexpr Levels kAsciiBars = {"1", "2", "3", "4", "5", "6", "7", "8"};
constexpr Levels kAsciiShades = {"-", "-", "+", "+", "*", "*", "#", "#"};

// The characters with which a map is drawn.
struct Marks {
  const Levels &bars, &shades;
  std::string_view missing, damaged, column, row, crossing, dots;
};
constexpr Marks kUtf8 = {kBars, kShades, "·", "×", "│", "─", "┼", "…"};
constexpr Marks kAscii = {kAsciiBars, kAsciiShades, ".", "X", "|", "-", "+", ".."};
constexpr std::array kColors = {54, 61, 67, 31, 37, 42, 112, 220};  // from dark blue to yellow
constexpr int kRedColor = 196;

std::string Repeated(std::string_view text, uint64_t times) {
  std::string repeated;
  for (uint64_t i = 0; i < times; ++i) repeated += text;
  return repeated;
}

class TextMap {
 public:
  TextMap(const ChunkMap& map, const TextStyle& style) : map_(map), scale_(map), style_(style) {
    label_ = LabelWidth(map.is_folded ? map.places : map.rows);
    const uint64_t room = style.columns > label_ ? style.columns - label_ : 1;
    // Returns the number of cells between two shard boundaries; 0 if boundaries cannot be drawn.
    const auto boundary = [&](uint64_t shard, uint64_t cell) {
      return shard % cell == 0 && shard > cell ? shard / cell : 0;
    };
    column_step_ = boundary(map.shard_columns, map.cell_columns);
    row_step_ = boundary(map.shard_rows, map.cell_rows);
    if (map.is_folded && column_step_ > 0 && map.columns % map.shard_columns != 0) {
      column_step_ = 0;
    }
    if (map.by == MapBy::kOrder && map.is_exact() && map.longest > 0) {
      const uint64_t digits = Digits(map.longest - 1);
      // Tries cells with room for a blank between numbers. Numbers of one digit may do without the
      // blank.
      for (const uint64_t wide : {digits + 1, digits}) {
        if (has_numbers_ || (wide > 1 && wide == digits)) break;
        if (map.grid_columns * wide + Boundaries() > room) continue;
        width_ = wide;
        has_numbers_ = true;
      }
    }
    if (!has_numbers_ && map.grid_columns * 2 + Boundaries() <= std::min(room, kWideMap)) {
      width_ = 2;
    }
    if (map.grid_columns * width_ + Boundaries() > room) column_step_ = 0;
    if (column_step_ == 0) row_step_ = 0;
  }

  std::string Draw() const {
    std::string text = Ruler();
    for (uint64_t r = 0; r < map_.grid_rows; ++r) {
      if (row_step_ > 0 && r > 0 && r % row_step_ == 0) {
        text += Line(std::string(label_, ' '), marks_.crossing,
                     [&](uint64_t) { return Repeated(marks_.row, width_); });
      }
      const uint64_t first = r * map_.cell_rows * (map_.is_folded ? map_.columns : 1);
      text += Line(fmt::format("{:>{}} ", first, label_ - 1), marks_.column,
                   [&](uint64_t c) { return Cell(map_.at(r, c)); });
    }
    return text;
  }

  std::string Legend() const {
    std::string text;
    if (map_.stored > 0) {
      if (has_numbers_) {
        text += fmt::format("0 {} {}: place in the shard", marks_.dots, map_.longest - 1);
      } else if (scale_.low == scale_.high) {
        text += fmt::format("{} {}{}", Colored(levels_.back(), 7), scale_.high,
                            map_.by == MapBy::kSize ? " each" : "");
      } else {
        text += scale_.low + " ";
        for (size_t i = 0; i < levels_.size(); ++i) {
          if (i == 0 || levels_[i] != levels_[i - 1]) text += Colored(levels_[i], i);
        }
        text += fmt::format(" {}: {}", scale_.high, scale_.what);
      }
      text += "   ";
    }
    text += fmt::format("{} not stored", marks_.missing);
    const auto uncovered = [&](const MapCell& cell) { return cell.places > 0 && !cell.in_object; };
    if (map_.has_shards() && std::ranges::any_of(map_.cells, uncovered)) {
      text += "   blank: no shard";
    }
    if (map_.damaged > 0) text += fmt::format("   {} damaged or unreadable", Damaged());
    return text;
  }

 private:
  [[nodiscard]] uint64_t Boundaries() const {
    return column_step_ == 0 ? 0 : (map_.grid_columns - 1) / column_step_;
  }
  [[nodiscard]] std::string Damaged() const {
    return style_.colored ? fmt::format("\033[1;38;5;{}m{}\033[0m", kRedColor, marks_.damaged)
                          : std::string(marks_.damaged);
  }
  [[nodiscard]] std::string Colored(std::string_view text, size_t level) const {
    return style_.colored ? fmt::format("\033[38;5;{}m{}\033[0m", kColors[level], text)
                          : std::string(text);
  }

  [[nodiscard]] std::string Cell(const MapCell& cell) const {
    std::string blank(width_ - 1, ' ');
    if (cell.places == 0) return blank + " ";
    if (cell.damaged > 0) return blank + Damaged();
    if (cell.stored == 0) {
      return blank.append(map_.has_shards() && !cell.in_object ? " " : marks_.missing);
    }
    const auto level = std::min<size_t>(static_cast<size_t>(scale_(cell) * 8), 7);
    if (has_numbers_) return Colored(fmt::format("{:>{}}", cell.position, width_), level);
    // A cell that is two characters wide is drawn as two equal blocks, so a full cell looks full.
    return Colored(Repeated(levels_[level], width_), level);
  }

  // Returns the line above the map, with as many column numbers as fit.
  [[nodiscard]] std::string Ruler() const {
    const uint64_t step = column_step_ > 0 ? column_step_ : 5;
    std::string line(label_, ' ');
    for (uint64_t c = 0; c < map_.grid_columns; c += step) {
      const uint64_t x = label_ + c * width_ + (column_step_ > 0 ? c / column_step_ : 0) +
                         (has_numbers_ ? width_ - 1 : 0);
      const std::string number = std::to_string(c * map_.cell_columns);
      if ((c > 0 && x < line.size() + 1) || x + number.size() > style_.columns) continue;
      if (x > line.size()) line.resize(x, ' ');
      line += number;
    }
    return line + "\n";
  }

  // Returns a line of the map. `separator` is inserted where a new shard begins. `cell` returns the
  // characters for a column.
  template <typename CellText>
  [[nodiscard]] std::string Line(std::string line, std::string_view separator,
                                 CellText cell) const {
    for (uint64_t c = 0; c < map_.grid_columns; ++c) {
      if (column_step_ > 0 && c > 0 && c % column_step_ == 0) line += separator;
      line += cell(c);
    }
    return line + "\n";
  }

  const ChunkMap& map_;
  const MapScale scale_;
  const TextStyle& style_;
  const Marks& marks_ = style_.utf8 ? kUtf8 : kAscii;
  const Levels& levels_ = map_.by == MapBy::kPresent ? marks_.shades : marks_.bars;
  uint64_t label_ = 0;
  uint64_t width_ = 1;        // the number of characters per cell
  bool has_numbers_ = false;  // true to draw chunk positions instead of bars
  // The number of cells from one boundary to the next; 0 if no boundaries are drawn.
  uint64_t column_step_ = 0;
  uint64_t row_step_ = 0;
};

// Breaks `text` at blanks into lines of at most `columns` characters. Longer words are split.
std::string Wrapped(std::string_view text, uint64_t columns) {
  std::string lines;
  const auto is_start = [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; };
  while (!text.empty()) {
    size_t end = 0;
    size_t blank = 0;
    for (uint64_t width = 0; end < text.size(); ++end) {
      if (text[end] == '\033') {  // the start of a colour code
        end = std::min(text.find('m', end), text.size() - 1);
        continue;
      }
      if (is_start(text[end]) && ++width > columns) break;
      if (text[end] == ' ') blank = end;
    }
    if (end < text.size() && blank > 0) end = blank;
    lines += std::string(text.substr(0, end)) + "\n";
    text.remove_prefix(end);
    text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  }
  return lines;
}

}  // namespace

uint64_t TextCells(uint64_t columns, uint64_t rows) {
  const uint64_t label = LabelWidth(rows);
  return columns > label ? columns - label : 1;
}

std::string DrawText(const ChunkMap& map, const MapWords& words, const TextStyle& style) {
  const uint64_t columns = std::max<uint64_t>(style.columns, 1);
  std::string text = Wrapped(words.title, columns) + Wrapped(words.subtitle, columns);
  if (map.places > 0) {
    const TextMap drawing(map, style);
    if (map.is_folded) {
      text += Wrapped("chunks of " + words.column_axis + " in reading order", columns);
    } else if (!words.row_axis.empty()) {
      text +=
          Wrapped(fmt::format("down: chunks of {}; across: {}", words.row_axis, words.column_axis),
                  columns);
    } else if (!words.column_axis.empty()) {
      text += Wrapped("across: chunks of " + words.column_axis, columns);
    }
    text += "\n" + drawing.Draw() + "\n" + Wrapped(drawing.Legend(), columns);
  }
  for (const std::string& line : words.summary) text += Wrapped(line, columns);
  return text;
}

}  // namespace zarrfs::ctl
