// Makes the attribute `_CRS`, from which GDAL reads the coordinate system of an array.
#pragma once

#include <string>
#include <string_view>

#include "zarrcore/base/result.h"
#include "zarrcore/metadata/json.h"

namespace zarrfs {

/// Returns the value of `_CRS` for an array, made from its `attributes`: GeoZarr's `proj:wkt2`,
/// `proj:projjson` or `proj:code`, or `crs_wkt` or `spatial_ref`. CF and GDAL write the last two
/// into the variable that `grid_mapping` names; some writers write them into the array itself. Null
/// if no attribute has a valid type.
[[nodiscard]] Json GdalCrsOf(const Json& attributes);

/// Adds the result of GdalCrsOf() to `attributes` as `_CRS`, unless `attributes` has a `_CRS` or
/// the result is null.
[[nodiscard]] Json WithGdalCrs(Json attributes);

/// Returns the first variable that the attribute `grid_mapping` names; "" if there is none. See CF
/// conventions, "Grid Mappings".
[[nodiscard]] std::string GridMappingOf(const Json& attributes);

/// Returns the value of `_CRS` that an array inherits from the `attributes` of a group above it;
/// null if there is none. `below` is the path from the group to the array, `dimensions` the array's
/// _ARRAY_DIMENSIONS. A group's attributes `proj:*` apply to the arrays directly in the group and
/// to the resolutions in the group's `multiscales`. If the group has `spatial:dimensions`, they
/// apply only to arrays that have these dimensions.
[[nodiscard]] Json GdalCrsOfGroup(const Json& attributes, std::string_view below,
                                  const Json& dimensions);

/// True if the GeoZarr attribute `multiscales` of a group lists the array called `name` as a
/// resolution.
[[nodiscard]] bool IsSizeOf(const Json& attributes, std::string_view name);

/// Returns the .zattrs `text` with `crs` as _CRS and `names` as _ARRAY_DIMENSIONS. If `crs` or
/// `names` is null, that attribute stays unchanged.
[[nodiscard]] Result<std::string> WithPlace(std::string_view text, const Json& crs,
                                            const Json& names);

}  // namespace zarrfs
