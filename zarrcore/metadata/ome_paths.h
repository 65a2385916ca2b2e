// Paths in the metadata of an OME-Zarr group.
#pragma once

#include <string>
#include <vector>

#include "zarrcore/metadata/json.h"
#include "zarrcore/metadata/ome.h"

namespace zarrfs {

/// The paths in a group's OME-Zarr metadata, relative to the group: resolutions of images, labels,
/// wells, fields. Images also have the path "labels", and collections written by bioformats2raw
/// also have "OME", although the metadata do not list these paths. At most 10^6 paths, all below
/// the group.
[[nodiscard]] std::vector<std::string> OmePaths(const Json& attributes, const OmePlace& place);

/// Returns the names of the images next to the group "OME" of a collection. `attributes` are those
/// of the group "OME". Empty if they name no images.
[[nodiscard]] std::vector<std::string> OmeSeries(const Json& attributes);

}  // namespace zarrfs
