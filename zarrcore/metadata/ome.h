// Converts OME-Zarr metadata to another version. Version 0.4 is for Zarr v2. Its members are
// top-level attributes of a group, and each states its version. Version 0.5 is for Zarr v3. The
// same members are in one attribute `ome`, which states one version. See OME-Zarr 0.4 and 0.5,
// "Metadata", at ngff.openmicroscopy.org.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "zarrcore/metadata/json.h"

namespace zarrfs {

/// Converted attributes, and notes for users.
struct OmeAttributes {
  Json attributes;
  std::vector<std::string> notes;
};

/// The properties of a group that decide which of its attributes belong to OME-Zarr.
struct OmePlace {
  bool below_ome = false;      // true if an ancestor is an OME group
  std::string_view name = {};  // the last component of the group's path
};

/// True if a group with these attributes is an OME group: it contains images, labels or plates. An
/// attribute is recognized as OME-Zarr by its structure, never just by its name, because borehole
/// data may have an attribute `well`, and GeoZarr has `multiscales`.
[[nodiscard]] bool IsOme(const Json& attributes, const OmePlace& place);

/// Returns the `attributes` of a group with the members of a 0.5 `ome` moved to the top level. An
/// existing attribute of the same name takes precedence, with a note. Members of other versions
/// stay in `ome`, with a note. Version 0.6 is first converted to 0.5, if possible (ome06.h). A
/// missing version means 0.5, because some writers omit it.
[[nodiscard]] OmeAttributes AsOme04(Json attributes);

/// Returns the `attributes` of a group with the members of 0.4 moved into `ome`. Members of other
/// versions stay at the top level, with a note. Attributes that are not OME-Zarr stay, without a
/// note.
[[nodiscard]] OmeAttributes AsOme05(Json attributes, const OmePlace& place);

/// Returns the `attributes` of a group with a 0.6 `ome` converted to 0.5, with a note. Returns them
/// unchanged if 0.5 cannot express the contents (ome06.h).
[[nodiscard]] OmeAttributes Ome06AsOme05(Json attributes);

/// The names of the axes of the array called `array` in a group with these `attributes`, if the
/// group is an image of 0.4 and the array is one of its resolutions. Otherwise empty. OME-Zarr 0.5
/// requires these names as dimension_names.
[[nodiscard]] std::vector<std::string> AxesIn04(const Json& attributes, std::string_view array);

}  // namespace zarrfs
