// OmeImage: an OME-Zarr image that the attributes of a group describe: the array of its lowest
// resolution, and the colours of its channels. See OME-Zarr 0.4 and 0.5, "multiscales" and "omero".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tools/zarrctl/page/plane.h"
#include "tools/zarrctl/page/png.h"
#include "zarrcore/metadata/json.h"

namespace zarrfs::ctl {

struct OmeChannel {
  uint64_t number = 0;
  std::string label = {};
  std::optional<Colour> colour = {};
  // The numbers that get the darkest and the brightest colour; nullopt for the minimum and the
  // maximum.
  std::optional<double> start = {};
  std::optional<double> end = {};
};

struct OmeImage {
  // Keys of arrays, from the highest to the lowest resolution; never empty.
  std::vector<std::string> levels;
  std::vector<std::string> axes;  // the names of the axes
  std::optional<size_t> channel_axis;
  std::vector<OmeChannel> channels;  // the channels to draw; empty without `omero`
  bool is_label = false;             // true for a label image, whose numbers identify objects

  [[nodiscard]] const std::string& coarsest() const { return levels.back(); }
  /// Returns the hints with which ChoosePlane() chooses a plane of the image's array with this
  /// shape.
  [[nodiscard]] PlaneHints HintsFor(const std::vector<uint64_t>& shape) const;
};

/// Returns the image that the attributes of the group at `path` describe; nullopt if they describe
/// no image.
[[nodiscard]] std::optional<OmeImage> FindOmeImage(const Json& attributes, const std::string& path);

}  // namespace zarrfs::ctl
