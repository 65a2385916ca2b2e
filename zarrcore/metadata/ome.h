// OME-Zarr: its metadata in the form of another version. Version 0.4 is for Zarr v2 and has its
// members among the other attributes of a group, each with a version; 0.5 is for Zarr v3 and has
// the same members in one attribute `ome`, with one version. (OME-Zarr 0.4 and 0.5, "Metadata";
// ngff.openmicroscopy.org)
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "zarrcore/metadata/json.h"

namespace zarrfs {

/// Attributes, and notes for readers.
struct OmeAttributes {
  Json attributes;
  std::vector<std::string> notes;
};

/// The properties of a group that decide which of its attributes are OME-Zarr.
struct OmePlace {
  bool below_ome = false;      // an ancestor is an OME group
  std::string_view name = {};  // the last component of the group's path
};

/// Whether a group with these attributes is an OME group: it contains images, labels or plates. An
/// attribute is OME-Zarr by its structure, never by its name alone: boreholes have a `well`,
/// GeoZarr has `multiscales`. Other attributes belong to the user.
[[nodiscard]] bool IsOme(const Json& attributes, const OmePlace& place);

/// `attributes` of a group with the members of a 0.5 `ome` moved to the top. Existing members stay
/// unchanged. Other versions stay in `ome`, with a note; 0.6 only if 0.5 cannot express it
/// (ome06.h). A missing version, as from some writers, means 0.5.
[[nodiscard]] OmeAttributes AsOme04(Json attributes);

/// `attributes` of a group with the members of 0.4 moved into `ome`. Other versions stay where they
/// are, with a note; attributes that are not OME-Zarr stay without one.
[[nodiscard]] OmeAttributes AsOme05(Json attributes, const OmePlace& place);

/// `attributes` of a group with `ome` of 0.6 converted to 0.5, with a note, if 0.5 can express it
/// (ome06.h).
[[nodiscard]] OmeAttributes Ome06AsOme05(Json attributes);

/// The names of the axes of the array `array` in a group with these `attributes`, if the group is
/// an image of 0.4 and the array one of its sizes. 0.5 requires them as dimension_names.
[[nodiscard]] std::vector<std::string> AxesIn04(const Json& attributes, std::string_view array);

}  // namespace zarrfs
