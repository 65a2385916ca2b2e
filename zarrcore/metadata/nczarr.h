// Attributes in which netCDF-C keeps its own notes on a store that it wrote (NCZarr). They describe
// names, shapes and types of the store's nodes; a view that shows these in another way drops them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "zarrcore/metadata/json.h"

namespace zarrfs {

/// Whether netCDF-C takes an attribute of this name for its own: _nczarr_array, _NCZARR_ATTR, …
[[nodiscard]] bool IsNczarrName(std::string_view name);

/// `attributes` without those notes: objects, or the text of one, which is what xarray saves of a
/// store that it opened through netCDF-C. Anything else of such a name is the user's, and stays.
[[nodiscard]] Json WithoutNczarr(Json attributes);

/// The names of an array's dimensions by those notes; empty unless they name `rank` of them.
[[nodiscard]] std::vector<std::string> NczarrDimensions(const Json& attributes, size_t rank);

/// Whether they say that an array of one element stands for a scalar.
[[nodiscard]] bool IsNczarrScalar(const Json& attributes);

/// The type of the attribute called `name` by those notes, as .zarray spells types ("<f4"); "" if
/// they do not say.
[[nodiscard]] std::string NczarrTypeOf(const Json& attributes, std::string_view name);

}  // namespace zarrfs
