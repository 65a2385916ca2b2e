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

/// A range of elements along an axis.
struct Range {
  uint64_t begin = 0;
  uint64_t end = 0;
  [[nodiscard]] uint64_t size() const { return end - begin; }
};

struct Plane {
  std::optional<size_t> row_axis;  // absent for an array with one axis, which is drawn as a curve
  size_t column_axis = 0;
  Range rows{0, 1};
  Range columns{0, 1};
  // The position of the plane along every axis; ignored along the axes of the picture and of the
  // channels.
  std::vector<uint64_t> at;
  std::optional<size_t> channel_axis = {};
  // The positions along the channel axis that are drawn in one picture.
  std::vector<uint64_t> channels = {};
  bool is_rgb = false;  // true if the channels are red, green and blue

  [[nodiscard]] size_t channel_count() const { return channel_axis ? channels.size() : 1; }
};

/// Properties of an array that its own metadata lack, for example because an OME-Zarr group
/// describes the array.
struct PlaneHints {
  std::vector<std::string> axes = {};  // axis names, if the metadata have none
  std::optional<size_t> channel_axis = {};
  std::vector<uint64_t> channels = {};
};

/// Chooses the plane of a picture. The plane has the last two axes, or, if the last axis contains
/// the colours of pixels, the two axes before it. Along these axes, the plane covers as many whole
/// chunks around the middle as `limits` allow. In an array with one axis, it covers chunks from the
/// start. Along all other axes, the plane is at the middle, or at the first step in time. Fails
/// with kTooLarge, and the reason, if `limits` allow no chunk, and with kUnsupported for arrays
/// without axes or elements.
[[nodiscard]] Result<Plane> ChoosePlane(const ArrayMetadata& metadata, const ArrayLayout& layout,
                                        const PlaneHints& hints, const PageLimits& limits);

/// Returns the position of the plane in words: "time 0 of 96, depth 18 of 37, y 100 to 899 of
/// 1000". "" for a whole array.
[[nodiscard]] std::string DescribePlane(const ArrayMetadata& metadata, const PlaneHints& hints,
                                        const Plane& plane);

}  // namespace zarrfs::ctl
