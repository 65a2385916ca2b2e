// Plane: the part of an array that a picture shows.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tools/zarrctl/page/budget.h"
#include "zarrcore/array/layout.h"
#include "zarrcore/base/result.h"
#include "zarrcore/metadata/metadata.h"

namespace zarrfs::ctl {

/// A run of elements along an axis.
struct Range {
  uint64_t begin = 0;
  uint64_t end = 0;
  [[nodiscard]] uint64_t size() const { return end - begin; }
};

struct Plane {
  std::optional<size_t> row_axis;  // none: an array of one axis, drawn as a curve
  size_t column_axis = 0;
  Range rows{0, 1};
  Range columns{0, 1};
  std::vector<uint64_t> at;  // along every axis; of those two and the next it does not count
  std::optional<size_t> channel_axis = {};
  std::vector<uint64_t> channels = {};  // along it: planes that make one picture
  bool is_rgb = false;                  // the channels are red, green and blue

  [[nodiscard]] size_t channel_count() const { return channel_axis ? channels.size() : 1; }
};

/// What is known of an array besides its metadata.
struct PlaneHints {
  std::vector<std::string> axes = {};  // names, where the metadata have none
  std::optional<size_t> channel_axis = {};
  std::vector<uint64_t> channels = {};
};

/// The last two axes, or those before the last one where that has the colours of pixels; the first
/// step in time, the middle of other axes. As much of it, around the middle, as the chunks hold
/// that `limits` allow. kTooLarge, with the reason, if that is nothing; kUnsupported for arrays
/// without axes or elements.
[[nodiscard]] Result<Plane> ChoosePlane(const ArrayMetadata& metadata, const ArrayLayout& layout,
                                        const PlaneHints& hints, const PageLimits& limits);

/// Where it lies: "time 0 of 96, depth 18 of 37; rows 100 to 899 of 1000"; "" for a whole array.
[[nodiscard]] std::string DescribePlane(const ArrayMetadata& metadata, const PlaneHints& hints,
                                        const Plane& plane);

}  // namespace zarrfs::ctl
