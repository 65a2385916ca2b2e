// Attributes in which netCDF-C keeps notes on a store that it wrote (NCZarr). The notes describe
// names, shapes and types of nodes. A view that changes any of these properties drops the notes.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "zarrcore/metadata/json.h"

namespace zarrfs {

/// True if netCDF-C reserves attributes of this name, such as _nczarr_array and _NCZARR_ATTR.
[[nodiscard]] bool IsNczarrName(std::string_view name);

/// Returns `attributes` without netCDF-C's notes: attributes with a reserved name whose value is an
/// object, or a string that contains a JSON object (as xarray saves it for a store opened through
/// netCDF-C). Other attributes with reserved names belong to the user and are kept.
[[nodiscard]] Json WithoutNczarr(Json attributes);

/// The dimension names of an array from netCDF-C's notes. Empty unless the notes have `rank` names.
[[nodiscard]] std::vector<std::string> NczarrDimensions(const Json& attributes, size_t rank);

/// True if netCDF-C's notes say that an array of one element represents a scalar.
[[nodiscard]] bool IsNczarrScalar(const Json& attributes);

/// The type of the attribute `name` from netCDF-C's notes, in the spelling of .zarray ("<f4"). ""
/// if the notes do not state it.
[[nodiscard]] std::string NczarrTypeOf(const Json& attributes, std::string_view name);

}  // namespace zarrfs
