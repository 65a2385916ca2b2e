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

/// Converted attributes, and messages for users about the conversion.
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
/// existing attribute of the same name takes precedence, with a message in the result's notes. An
/// `ome` of another version stays unchanged, with a message. Version 0.6 is first converted to 0.5,
/// if possible (ome06.h). A missing version means 0.5, because some writers omit it.
[[nodiscard]] OmeAttributes AsOme04(Json attributes);

/// Returns the `attributes` of a group with the members of 0.4 moved into `ome`. If a member states
/// another version, all attributes stay unchanged, and the result has a message. Attributes that
/// are not OME-Zarr stay at the top level.
[[nodiscard]] OmeAttributes AsOme05(Json attributes, const OmePlace& place);

/// Returns the `attributes` of a group with a 0.6 `ome` converted to 0.5, and a message that says
/// so. Returns them unchanged if 0.5 cannot express the contents (ome06.h).
[[nodiscard]] OmeAttributes Ome06AsOme05(Json attributes);

/// Returns the names of the axes of `array`, if `array` is a resolution of an OME-Zarr 0.4 image
/// whose group has these `attributes`. Otherwise empty. OME-Zarr 0.5 requires these names as
/// dimension_names.
[[nodiscard]] std::vector<std::string> AxesIn04(const Json& attributes, std::string_view array);

}  // namespace zarrfs
