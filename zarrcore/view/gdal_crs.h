// The coordinate system of an array, for GDAL, which reads it from the attribute `_CRS`.
#pragma once

#include <string>
#include <string_view>

#include "zarrcore/base/result.h"
#include "zarrcore/metadata/json.h"

namespace zarrfs {

/// The value of `_CRS` that `attributes` of an array make: of GeoZarr's `proj:wkt2`,
/// `proj:projjson` or `proj:code`, or of `crs_wkt` or `spatial_ref`, which CF and GDAL write into
/// the variable that `grid_mapping` names, and some writers into the array itself. Null if they say
/// nothing of the right type.
[[nodiscard]] Json GdalCrsOf(const Json& attributes);

/// `attributes` with that as `_CRS`. Unchanged if they have a `_CRS`, or say nothing.
[[nodiscard]] Json WithGdalCrs(Json attributes);

/// The name of the variable that `grid_mapping` names, the first of several; "" if it names none.
/// (CF conventions, "Grid Mappings")
[[nodiscard]] std::string GridMappingOf(const Json& attributes);

/// The value of `_CRS` for an array at `below`, a path from a group with these `attributes`.
/// GeoZarr's `proj:*` of a group are those of the arrays directly in it and of the sizes that its
/// `multiscales` lists; where `spatial:dimensions` names dimensions, of arrays that have them. Null
/// if the group says nothing of the array. `dimensions`: the value of _ARRAY_DIMENSIONS.
[[nodiscard]] Json GdalCrsOfGroup(const Json& attributes, std::string_view below,
                                  const Json& dimensions);

/// Whether GeoZarr's `multiscales` of a group list the array called `name` itself as a size.
[[nodiscard]] bool IsSizeOf(const Json& attributes, std::string_view name);

/// The text of a .zattrs of the view with `crs` as _CRS and `names` as _ARRAY_DIMENSIONS, unless
/// they are null.
[[nodiscard]] Result<std::string> WithPlace(std::string_view text, const Json& crs,
                                            const Json& names);

}  // namespace zarrfs
