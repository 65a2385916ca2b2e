// Attributes with netCDF-C's own notes on a store that it wrote (NCZarr). They describe names,
// shapes and types of the store's nodes; a view that changes these drops them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "zarrcore/metadata/json.h"

namespace zarrfs {

/// Whether netCDF-C claims an attribute of this name for itself: _nczarr_array, _NCZARR_ATTR, …
[[nodiscard]] bool IsNczarrName(std::string_view name);

/// `attributes` without those notes: objects, or the text of one, which xarray saves for a store
/// that it opened through netCDF-C. Other attributes with such names belong to the user, and stay.
[[nodiscard]] Json WithoutNczarr(Json attributes);

/// The names of an array's dimensions in those notes; empty unless they name `rank` of them.
[[nodiscard]] std::vector<std::string> NczarrDimensions(const Json& attributes, size_t rank);

/// Whether they say that an array of one element represents a scalar.
[[nodiscard]] bool IsNczarrScalar(const Json& attributes);

/// The type of the attribute `name` in those notes, in the spelling of .zarray ("<f4"); "" if they
/// do not state it.
[[nodiscard]] std::string NczarrTypeOf(const Json& attributes, std::string_view name);

}  // namespace zarrfs
