#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "tools/zarrctl/describe.h"
#include "tools/zarrctl/map/map_view.h"
#include "tools/zarrctl/output.h"
#include "zarrcore/base/printable.h"

namespace zarrfs::ctl {
namespace {

constexpr double kWideRange = 64;  // the ratio of sizes above which the scale is logarithmic

std::string AxisName(const ArrayMetadata& metadata, size_t axis) {
  std::string name = fmt::format("axis {}", axis);
  if (metadata.dimension_names) {
    if (const auto& given = (*metadata.dimension_names)[axis]) {
      name += fmt::format(" ({})", Visible(*given));
    }
  }
  return name;
}

// Returns the property `by` of a cell with stored chunks, as a number.
double ValueOf(const MapCell& cell, MapBy by) {
  const auto stored = static_cast<double>(cell.stored);
  if (by == MapBy::kPresent) return stored / static_cast<double>(cell.places);
  return (by == MapBy::kOrder ? cell.order : static_cast<double>(cell.bytes)) / stored;
}

}  // namespace

MapWords DescribeMap(const TargetNode& array, const ChunkMap& map) {
  const ArrayMetadata& metadata = *array.node->array();
  const ArrayLayout& layout = array.node->chunks->layout();
  const size_t rank = metadata.rank();
  MapWords words;
  words.title = fmt::format("{}  {} {}", Visible(array.FileOf(array.node->path)),
                            DescribeShape(metadata.shape), Visible(metadata.data_type.name));
  std::vector<std::string> parts;
  if (rank > 2) parts.push_back(fmt::format("slice {}, *, *", fmt::join(map.slice, ", ")));
  constexpr std::array kBy = {"by size", "by order in the shard", "by presence"};
  parts.push_back(kBy[static_cast<size_t>(map.by)]);
  parts.push_back("chunks " + DescribeShape(layout.inner_chunk_shape));
  if (layout.is_sharded()) parts.push_back("shards " + DescribeOuterShape(metadata));
  if (!map.is_exact()) {
    parts.push_back(map.is_folded || rank < 2
                        ? fmt::format("{} chunks a cell", map.cell_columns)
                        : fmt::format("{} x {} chunks a cell", map.cell_rows, map.cell_columns));
  }
  words.subtitle = fmt::format("{}", fmt::join(parts, "; "));
  if (rank >= 2) words.row_axis = AxisName(metadata, rank - 2);
  if (rank >= 1) words.column_axis = AxisName(metadata, rank - 1);
  words.summary = SummariseMap(layout, map);
  return words;
}

std::vector<std::string> SummariseMap(const ArrayLayout& layout, const ChunkMap& map) {
  std::vector<std::string> summary;
  std::string line = fmt::format("{} of {} stored", map.stored, CountText(map.places, "chunk"));
  if (layout.is_sharded()) line += fmt::format(", in {}", CountText(map.objects, "shard"));
  if (map.damaged > 0) line += fmt::format("; {} damaged or unreadable", map.damaged);
  summary.push_back(line);
  if (map.stored > 0) {
    const std::string sizes =
        map.smallest == map.largest
            ? SizeText(map.smallest) + " each"
            : fmt::format("sizes {} to {}, mean {}", SizeText(map.smallest), SizeText(map.largest),
                          SizeText(map.bytes / map.stored));
    summary.push_back(fmt::format("{}, {} in all", sizes, SizeText(map.bytes)));
  }
  if (map.by == MapBy::kOrder) {
    summary.push_back(fmt::format("{} of {} hold their chunks in C order", map.in_order,
                                  CountText(map.objects, "shard")));
  }
  return summary;
}

MapScale::MapScale(const ChunkMap& map) : by(map.by) {
  switch (by) {
    case MapBy::kSize: {
      least = std::numeric_limits<double>::max();
      for (const MapCell& cell : map.cells) {
        if (cell.stored == 0) continue;
        least = std::min(least, ValueOf(cell, by));
        most = std::max(most, ValueOf(cell, by));
      }
      least = std::min(least, most);
      is_logarithmic = least > 0 && most / least > kWideRange;
      // A linear scale begins at 0, so a small difference in size looks small.
      if (!is_logarithmic && least < most) least = 0;
      low = SizeText(static_cast<uint64_t>(least));
      high = SizeText(static_cast<uint64_t>(most));
      what = map.is_exact() ? "size of the chunk" : "mean size of the stored chunks";
      if (is_logarithmic) what += " (logarithmic)";
      return;
    }
    case MapBy::kOrder:
      most = map.longest > 1 ? 1 : 0;
      low = "first";
      high = most > 0 ? "last" : low;
      what = map.is_exact() ? "place in the shard" : "mean place in the shard";
      return;
    case MapBy::kPresent:
      most = map.is_exact() ? 0 : 1;
      low = map.is_exact() ? "stored" : "few";
      high = map.is_exact() ? low : "all";
      what = map.is_exact() ? "" : "share of the chunks that are stored";
      return;
  }
}

double MapScale::operator()(const MapCell& cell) const {
  if (most <= least || cell.stored == 0) return 1;
  const double value = ValueOf(cell, by);
  const double share = is_logarithmic ? std::log(value / least) / std::log(most / least)
                                      : (value - least) / (most - least);
  return std::clamp(share, 0.0, 1.0);
}

}  // namespace zarrfs::ctl
