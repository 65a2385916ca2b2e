// The ways to show a ChunkMap.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/zarrctl/map/chunk_map.h"
#include "tools/zarrctl/target.h"

namespace zarrfs::ctl {

/// The title, labels and summary of a map.
struct MapWords {
  std::string title;     // such as "/data/ocean.zarr/t  [40, 721, 1440] float32"
  std::string subtitle;  // such as "slice 3, *, *; by size; 4 x 8 chunks a cell"
  std::string row_axis;  // such as "axis 1 (lat)"; "" if the map has no rows
  std::string column_axis;
  std::vector<std::string> summary;  // one element per line
};
[[nodiscard]] MapWords DescribeMap(const TargetNode& array, const ChunkMap& map);
/// Returns the summary of a map, one element per line.
[[nodiscard]] std::vector<std::string> SummariseMap(const ArrayLayout& layout, const ChunkMap& map);

/// Maps a cell with stored chunks to a number from 0 to 1, according to the property that the map
/// shows.
struct MapScale {
  explicit MapScale(const ChunkMap& map);
  [[nodiscard]] double operator()(const MapCell& cell) const;

  /// What 0 and 1 stand for, such as "1.2 KiB" or "first in its shard". Both are equal if only one
  /// value occurs.
  std::string low, high;
  /// The property that the map shows, such as "mean size of the stored chunks (logarithmic)".
  std::string what;

  MapBy by;
  double least = 0, most = 0;
  bool is_logarithmic = false;
};

/// The style of a map on a terminal, which has lines of at most `columns` characters.
struct TextStyle {
  uint64_t columns = 80;
  bool utf8 = false;
  bool colored = false;
};
[[nodiscard]] std::string DrawText(const ChunkMap& map, const MapWords& words,
                                   const TextStyle& style);
/// Returns the maximum number of cells per row that DrawText() can draw in `columns` columns, for a
/// map with `rows` rows of chunks.
[[nodiscard]] uint64_t TextCells(uint64_t columns, uint64_t rows);

}  // namespace zarrfs::ctl
