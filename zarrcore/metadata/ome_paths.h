// Paths in the metadata of an OME-Zarr group.
#pragma once

#include <string>
#include <vector>

#include "zarrcore/metadata/json.h"
#include "zarrcore/metadata/ome.h"

namespace zarrfs {

/// The paths in a group's OME-Zarr metadata, relative to the group: resolutions of images, labels,
/// wells, fields. An image also has the path "labels", and a collection written by bioformats2raw
/// also "OME", although no metadata name them. At most 10^6 paths, all below the group.
[[nodiscard]] std::vector<std::string> OmePaths(const Json& attributes, const OmePlace& place);

/// For the group "OME" in a collection: the names of the images that lie next to that group. Empty
/// if its metadata name none.
[[nodiscard]] std::vector<std::string> OmeSeries(const Json& attributes);

}  // namespace zarrfs
