#include "tools/zarrctl/page/plane.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <set>
#include <string_view>

#include "tools/zarrctl/output.h"
#include "zarrcore/base/checked.h"

namespace zarrfs::ctl {
namespace {

// The maximum length of an axis that is taken for the colour components of pixels.
constexpr uint64_t kMaxColours = 4;

std::string AxisName(const ArrayMetadata& metadata, const PlaneHints& hints, size_t axis) {
  if (metadata.dimension_names && (*metadata.dimension_names)[axis]) {
    return *(*metadata.dimension_names)[axis];
  }
  if (axis < hints.axes.size() && !hints.axes[axis].empty()) return hints.axes[axis];
  return fmt::format("axis {}", axis);
}

bool IsTime(std::string name) {
  constexpr std::array<std::string_view, 4> kExact = {"t", "date", "step", "month"};
  std::ranges::transform(name, name.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return name.find("time") != std::string::npos || std::ranges::find(kExact, name) != kExact.end();
}

// The decoded size of a chunk in bytes; nullopt if it overflows or varies.
std::optional<uint64_t> ChunkBytes(const ArrayMetadata& metadata, const ArrayLayout& layout) {
  std::optional<uint64_t> bytes = metadata.data_type.item_size;
  for (const uint64_t length : layout.inner_chunk_shape) {
    if (bytes) bytes = CheckedMul(*bytes, length);
  }
  return bytes;
}

void ChooseAxes(const ArrayMetadata& metadata, const PlaneHints& hints, Plane& plane) {
  const auto& shape = metadata.shape;
  const size_t rank = shape.size();
  plane.column_axis = rank - 1;
  if (rank >= 2) plane.row_axis = rank - 2;
  if (hints.channel_axis && !hints.channels.empty()) {
    plane.channel_axis = hints.channel_axis;
    plane.channels = hints.channels;
    return;
  }
  const bool is_of_colours = rank >= 3 && shape[rank - 1] <= kMaxColours &&
                             shape[rank - 2] > kMaxColours && shape[rank - 3] > kMaxColours;
  if (!is_of_colours) return;
  plane.column_axis = rank - 2;
  plane.row_axis = rank - 3;
  const DataType& type = metadata.data_type;
  if (type.kind == DataKind::kUint && type.item_size == 1 && shape[rank - 1] >= 3) {
    plane.channel_axis = rank - 1;
    plane.channels = {0, 1, 2};
    plane.is_rgb = true;
  }
}

bool IsFixed(const Plane& plane, size_t axis) {
  return axis != plane.column_axis && axis != plane.row_axis && axis != plane.channel_axis;
}

// Returns the range of elements of `count` chunks along an axis: those in the middle, or the first
// ones. The axis has `extent` elements in `chunks` chunks.
Range RangeOf(uint64_t extent, uint64_t chunk, uint64_t chunks, uint64_t count, bool in_middle) {
  const uint64_t first = in_middle ? (chunks - count) / 2 : 0;
  return {first * chunk, std::min((first + count) * chunk, extent)};
}

}  // namespace

Result<Plane> ChoosePlane(const ArrayMetadata& metadata, const ArrayLayout& layout,
                          const PlaneHints& hints, const PageLimits& limits) {
  const auto& shape = metadata.shape;
  const auto& chunk = layout.inner_chunk_shape;
  const auto& counts = layout.inner_grid.counts();
  if (shape.empty() || layout.inner_grid.size() == 0) {
    return Fail(ErrorCode::kUnsupported, "it has no {}", shape.empty() ? "axes" : "elements");
  }
  Plane plane;
  ChooseAxes(metadata, hints, plane);
  plane.at.assign(shape.size(), 0);
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    if (!IsFixed(plane, axis) || IsTime(AxisName(metadata, hints, axis))) continue;
    plane.at[axis] = shape[axis] / 2;
  }
  const auto bytes = ChunkBytes(metadata, layout);
  if (!bytes || *bytes > limits.decoded_bytes) {
    return Fail(ErrorCode::kTooLarge,
                "a chunk has {} when decoded; pictures are made of at most {}",
                bytes ? SizeText(*bytes) : "more than 2^64 bytes", SizeText(limits.decoded_bytes));
  }
  uint64_t most = std::min(limits.chunks, limits.decoded_bytes / std::max<uint64_t>(*bytes, 1));
  if (plane.channel_axis) {
    std::set<uint64_t> chunks;
    for (const uint64_t channel : plane.channels)
      chunks.insert(channel / chunk[*plane.channel_axis]);
    most /= chunks.size();
  }
  if (most == 0) {
    return Fail(ErrorCode::kTooLarge, "its channels have more than {} when decoded",
                SizeText(limits.decoded_bytes));
  }
  const size_t c = plane.column_axis;
  if (!plane.row_axis) {
    plane.columns = RangeOf(shape[c], chunk[c], counts[c], std::min(counts[c], most), false);
    return plane;
  }
  const size_t r = *plane.row_axis;
  uint64_t rows = counts[r];
  uint64_t columns = counts[c];
  if (rows > most / columns || rows * columns > most) {
    // Chooses chunks so that the plane is about as high as wide.
    const double shares = static_cast<double>(chunk[r]) / static_cast<double>(chunk[c]);
    const auto wanted =
        static_cast<uint64_t>(std::floor(std::sqrt(static_cast<double>(most) * shares)));
    columns = std::min(columns, std::clamp<uint64_t>(wanted, 1, most));
    rows = std::min(rows, most / columns);
    columns = std::min(counts[c], most / rows);
  }
  plane.rows = RangeOf(shape[r], chunk[r], counts[r], rows, true);
  plane.columns = RangeOf(shape[c], chunk[c], counts[c], columns, true);
  return plane;
}

std::string DescribePlane(const ArrayMetadata& metadata, const PlaneHints& hints,
                          const Plane& plane) {
  std::vector<std::string> parts;
  for (size_t axis = 0; axis < metadata.rank(); ++axis) {
    if (!IsFixed(plane, axis) || metadata.shape[axis] == 1) continue;
    parts.push_back(fmt::format("{} {} of {}", AxisName(metadata, hints, axis), plane.at[axis],
                                metadata.shape[axis]));
  }
  const auto add_part = [&](size_t axis, Range range) {
    if (range.size() == metadata.shape[axis]) return;
    parts.push_back(fmt::format("{} {} to {} of {}", AxisName(metadata, hints, axis), range.begin,
                                range.end - 1, metadata.shape[axis]));
  };
  if (plane.row_axis) add_part(*plane.row_axis, plane.rows);
  add_part(plane.column_axis, plane.columns);
  return fmt::format("{}", fmt::join(parts, ", "));
}

}  // namespace zarrfs::ctl
