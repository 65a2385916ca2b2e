// The coordinate system of an array, for GDAL.
#pragma once

#include "zarrcore/metadata/json.h"

namespace zarrfs {

/// `attributes` of an array with the one that GDAL reads a coordinate system from, `_CRS`, made of
/// what the array itself says: GeoZarr's `proj:wkt2`, `proj:projjson` or `proj:code`, or `crs_wkt`
/// or `spatial_ref` of CF and GDAL. Unchanged if it has `_CRS`, or says nothing of the right type.
/// (An array that `grid_mapping` names is another one, and not looked at.)
[[nodiscard]] Json WithGdalCrs(Json attributes);

}  // namespace zarrfs
