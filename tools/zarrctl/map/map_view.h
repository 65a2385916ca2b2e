// The ways to show a ChunkMap.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/zarrctl/map/chunk_map.h"
#include "tools/zarrctl/target.h"

namespace zarrfs::ctl {

/// What every way to show it says in words.
struct MapWords {
  std::string title;     // "/data/ocean.zarr/t  [40, 721, 1440] float32"
  std::string subtitle;  // "slice 3, *, *; by size; 4 x 8 chunks a cell"
  std::string row_axis;  // "axis 1 (lat)"; empty: there is none
  std::string column_axis;
  std::vector<std::string> summary;  // lines
};
[[nodiscard]] MapWords DescribeMap(const TargetNode& array, const ChunkMap& map);
/// The summary alone.
[[nodiscard]] std::vector<std::string> SummariseMap(const ArrayLayout& layout, const ChunkMap& map);

/// From 0 to 1: how a cell with stored chunks stands among all by what is shown.
struct MapScale {
  explicit MapScale(const ChunkMap& map);
  [[nodiscard]] double operator()(const MapCell& cell) const;

  /// What 0 and 1 stand for: "1.2 KiB", "first in its shard". Equal if there is but one value.
  std::string low, high;
  /// What it measures: "mean size of the stored chunks (logarithmic)".
  std::string what;

  MapBy by;
  double least = 0, most = 0;
  bool is_logarithmic = false;
};

/// Lines of at most `columns` characters for a terminal.
struct TextStyle {
  uint64_t columns = 80;
  bool utf8 = false;
  bool colored = false;
};
[[nodiscard]] std::string DrawText(const ChunkMap& map, const MapWords& words,
                                   const TextStyle& style);
/// Columns of cells that DrawText has room for, of a map with so many rows of chunks.
[[nodiscard]] uint64_t TextCells(uint64_t columns, uint64_t rows);

}  // namespace zarrfs::ctl
