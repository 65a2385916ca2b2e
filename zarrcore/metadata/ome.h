// OME-Zarr: its metadata in the form that readers of another version know. Version 0.4 is for Zarr
// v2 and has its members beside the other attributes of a group, each with a version; 0.5 is for
// Zarr v3 and has the same members in one attribute `ome`, with one version. (OME-Zarr 0.4 and 0.5,
// "Metadata"; ngff.openmicroscopy.org)
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "zarrcore/metadata/json.h"

namespace zarrfs {

/// Attributes, and what readers should know of them.
struct OmeAttributes {
  Json attributes;
  std::vector<std::string> notes;
};

/// A group: what decides which of its attributes are OME-Zarr.
struct OmePlace {
  bool below_ome = false;      // an ancestor is an OME group
  std::string_view name = {};  // the last component of the group's path
};

/// Whether a group with these attributes is an OME one: images, labels or plates lie in it. An
/// attribute is OME-Zarr by its structure, never by its name alone: boreholes have a `well`,
/// GeoZarr has `multiscales`. What is not is the user's.
[[nodiscard]] bool IsOme(const Json& attributes, const OmePlace& place);

/// `attributes` of a group with the members of a 0.5 `ome` at the top. A member that is there
/// already stays as it is. Other versions stay in `ome`, with a note; 0.6 only where 0.5 cannot say
/// it (ome06.h). Without a version, as some writers leave it out, it is 0.5.
[[nodiscard]] OmeAttributes AsOme04(Json attributes);

/// `attributes` of a group with the members of 0.4 in `ome`. Other versions stay where they are,
/// with a note, as does whatever is not OME-Zarr, without one.
[[nodiscard]] OmeAttributes AsOme05(Json attributes, const OmePlace& place);

/// `attributes` of a group with `ome` of 0.6 as 0.5, with a note, where that can say it (ome06.h).
[[nodiscard]] OmeAttributes Ome06AsOme05(Json attributes);

/// The names of the axes of the array called `array` in a group with these `attributes`, if the
/// group is an image of 0.4 that the array is one size of. 0.5 wants them as dimension_names.
[[nodiscard]] std::vector<std::string> AxesIn04(const Json& attributes, std::string_view array);

}  // namespace zarrfs
