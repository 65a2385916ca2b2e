// What the attributes of a group say of an OME-Zarr image: which array is its smallest level, and
// how its channels are coloured. (OME-Zarr 0.4 and 0.5, "multiscales" and "omero")
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
  // What is black and what is brightest; nullopt: the least and the greatest number.
  std::optional<double> start = {};
  std::optional<double> end = {};
};

struct OmeImage {
  std::vector<std::string> levels;  // keys of arrays, the largest first; never empty
  std::vector<std::string> axes;    // names
  std::optional<size_t> channel_axis;
  std::vector<OmeChannel> channels;  // those to be drawn; empty without `omero`
  bool is_label = false;             // its numbers are names of objects

  [[nodiscard]] const std::string& coarsest() const { return levels.back(); }
  /// For an array of so many axes.
  [[nodiscard]] PlaneHints HintsFor(const std::vector<uint64_t>& shape) const;
};

/// nullopt if the attributes of the group at `path` are those of no image.
[[nodiscard]] std::optional<OmeImage> FindOmeImage(const Json& attributes, const std::string& path);

}  // namespace zarrfs::ctl
