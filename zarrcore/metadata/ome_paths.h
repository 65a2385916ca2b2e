// What an OME-Zarr group says lies below it.
#pragma once

#include <string>
#include <vector>

#include "zarrcore/metadata/json.h"
#include "zarrcore/metadata/ome.h"

namespace zarrfs {

/// The paths, from the group on, that its OME-Zarr names: sizes of images, labels, wells, fields.
/// Of an image also "labels", which nothing names; of a collection of bioformats2raw "OME". At most
/// 10^6; none that is no path within the group.
[[nodiscard]] std::vector<std::string> OmePaths(const Json& attributes, const OmePlace& place);

/// Of the group "OME" in a collection: the names of the images beside that group. Empty if it says
/// none.
[[nodiscard]] std::vector<std::string> OmeSeries(const Json& attributes);

}  // namespace zarrfs
