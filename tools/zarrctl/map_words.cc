#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "tools/zarrctl/describe.h"
#include "tools/zarrctl/map_view.h"
#include "tools/zarrctl/output.h"
#include "zarrcore/base/printable.h"

namespace zarrfs::ctl {
namespace {

constexpr double kWideRange = 64;  // of sizes: from here on the scale is logarithmic

std::string AxisName(const ArrayMetadata& metadata, size_t axis) {
  std::string name = fmt::format("axis {}", axis);
  if (metadata.dimension_names) {
    if (const auto& given = (*metadata.dimension_names)[axis]) {
      name += fmt::format(" ({})", Visible(*given));
    }
  }
  return name;
}

double MeanSize(const MapCell& cell) {
  return static_cast<double>(cell.bytes) / static_cast<double>(cell.stored);
}

}  // namespace

MapWords DescribeMap(const TargetNode& array, const ChunkMap& map, MapBy by) {
  const ArrayMetadata& metadata = *array.node->array();
  const ArrayLayout& layout = array.node->chunks->layout();
  const size_t rank = metadata.rank();
  MapWords words;
  words.title = fmt::format("{}  {} {}", Visible(array.FileOf(array.node->path)),
                            DescribeShape(metadata.shape), Visible(metadata.data_type.name));
  std::vector<std::string> parts;
  if (rank > 2) parts.push_back(fmt::format("slice {}, *, *", fmt::join(map.slice, ", ")));
  parts.push_back(by == MapBy::kSize    ? "by size"
                  : by == MapBy::kOrder ? "by order in the shard"
                                        : "by presence");
  parts.push_back("chunks " + DescribeShape(layout.inner_chunk_shape));
  if (layout.is_sharded()) parts.push_back("shards " + DescribeShape(metadata.chunk_shape));
  if (!map.is_exact()) {
    parts.push_back(map.is_folded || rank < 2
                        ? fmt::format("{} chunks a cell", map.cell_columns)
                        : fmt::format("{} x {} chunks a cell", map.cell_rows, map.cell_columns));
  }
  words.subtitle = fmt::format("{}", fmt::join(parts, "; "));
  if (rank >= 2) words.row_axis = AxisName(metadata, rank - 2);
  if (rank >= 1) words.column_axis = AxisName(metadata, rank - 1);

  std::string line = fmt::format("{} of {} stored", map.stored, CountText(map.places, "chunk"));
  if (layout.is_sharded()) line += fmt::format(", in {}", CountText(map.objects, "shard"));
  if (map.damaged > 0) line += fmt::format("; {} damaged or unreadable", map.damaged);
  words.summary.push_back(line);
  if (map.stored > 0) {
    const std::string sizes =
        map.smallest == map.largest
            ? SizeText(map.smallest) + " each"
            : fmt::format("sizes {} to {}, mean {}", SizeText(map.smallest), SizeText(map.largest),
                          SizeText(map.bytes / map.stored));
    words.summary.push_back(fmt::format("{}, {} in all", sizes, SizeText(map.bytes)));
  }
  if (by == MapBy::kOrder) {
    words.summary.push_back(fmt::format("{} of {} hold their chunks in C order", map.in_order,
                                        CountText(map.objects, "shard")));
  }
  return words;
}

MapScale::MapScale(const ChunkMap& map, MapBy by) : by_(by) {
  switch (by) {
    case MapBy::kSize: {
      bool any = false;
      for (const MapCell& cell : map.cells) {
        if (cell.stored == 0) continue;
        least_ = any ? std::min(least_, MeanSize(cell)) : MeanSize(cell);
        most_ = any ? std::max(most_, MeanSize(cell)) : MeanSize(cell);
        any = true;
      }
      is_logarithmic_ = least_ > 0 && most_ / least_ > kWideRange;
      low_ = SizeText(static_cast<uint64_t>(least_));
      high_ = SizeText(static_cast<uint64_t>(most_));
      what_ = map.is_exact() ? "size of the chunk" : "mean size of the stored chunks";
      if (is_logarithmic_) what_ += " (logarithmic)";
      return;
    }
    case MapBy::kOrder:
      most_ = map.longest > 1 ? 1 : 0;
      low_ = "first";
      high_ = map.longest > 1 ? "last" : low_;
      what_ = map.is_exact() ? "place in the shard" : "mean place in the shard";
      return;
    case MapBy::kPresent:
      most_ = map.is_exact() ? 0 : 1;
      low_ = map.is_exact() ? "stored" : "few";
      high_ = map.is_exact() ? low_ : "all";
      what_ = map.is_exact() ? "" : "share of the chunks that are stored";
      return;
  }
}

double MapScale::operator()(const MapCell& cell) const {
  if (most_ <= least_ || cell.stored == 0) return 1;
  const auto stored = static_cast<double>(cell.stored);
  double value = 0;
  switch (by_) {
    case MapBy::kSize:
      value = MeanSize(cell);
      break;
    case MapBy::kOrder:
      value = cell.order / stored;
      break;
    case MapBy::kPresent:
      value = stored / static_cast<double>(cell.places);
      break;
  }
  const double share = is_logarithmic_ ? std::log(value / least_) / std::log(most_ / least_)
                                       : (value - least_) / (most_ - least_);
  return std::clamp(share, 0.0, 1.0);
}

std::string DescribeCell(const ChunkSource& source, const ChunkMap& map, uint64_t row,
                         uint64_t column) {
  const MapCell& cell = map.at(row, column);
  const ChunkGrid& grid = source.layout().inner_grid;
  std::string text;
  if (map.is_exact()) {
    text = fmt::format("chunk {}", ChunkName(map.FirstChunk(row, column), grid));
    if (cell.damaged > 0) return text + ": damaged or unreadable";
    if (cell.stored == 0) return text + ": not stored";
    text += ": " + SizeText(cell.bytes);
    if (source.layout().is_sharded()) {
      text += fmt::format(", number {} of {}, at offset {}", cell.position + 1,
                          Visible(source.ObjectKey(source.OuterOf(InnerIndex{cell.chunk}))),
                          cell.offset);
    }
    return text;
  }
  text = fmt::format("from chunk {}: {} of {} stored", ChunkName(map.FirstChunk(row, column), grid),
                     cell.stored, CountText(cell.places, "chunk"));
  if (cell.stored > 0) text += ", mean " + SizeText(cell.bytes / cell.stored);
  if (cell.damaged > 0) text += fmt::format(", {} damaged or unreadable", cell.damaged);
  return text;
}

}  // namespace zarrfs::ctl
