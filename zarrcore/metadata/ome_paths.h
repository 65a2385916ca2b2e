// The paths that an OME-Zarr group names.
#pragma once

#include <string>
#include <vector>

#include "zarrcore/metadata/json.h"
#include "zarrcore/metadata/ome.h"

namespace zarrfs {

/// The paths, relative to the group, that its OME-Zarr names: sizes of images, labels, wells,
/// fields. For an image also "labels", which nothing names; for a collection of bioformats2raw
/// "OME". At most 10^6, all within the group.
[[nodiscard]] std::vector<std::string> OmePaths(const Json& attributes, const OmePlace& place);

/// For the group "OME" in a collection: the names of the images next to that group. Empty if it
/// names none.
[[nodiscard]] std::vector<std::string> OmeSeries(const Json& attributes);

}  // namespace zarrfs
