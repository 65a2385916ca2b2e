// Attributes as readers of Zarr v2 can take them.
#ifndef ZARRCORE_VIEW_V2_ATTRIBUTES_H_
#define ZARRCORE_VIEW_V2_ATTRIBUTES_H_

#include "zarrcore/metadata/json.h"
#include "zarrcore/metadata/metadata.h"

namespace zarrfs {

inline constexpr const char* kDimensionsAttribute = "_ARRAY_DIMENSIONS";

/// The attribute _ARRAY_DIMENSIONS: a name for each dimension, which xarray, GDAL and netCDF-C
/// need: that of the attribute if it is there, else of dimension_names, else one made of place and
/// length. The same name does not come with two lengths in one array; with `with_lengths` not in any
/// two. `plain`: without slashes.
[[nodiscard]] Json DimensionNames(const ArrayMetadata& metadata, bool plain, bool with_lengths);

/// `attributes` with every value that is neither a number, a text, an object nor a list of numbers
/// as the text that it is in JSON; a list with a float in it is one of floats.
[[nodiscard]] Json PlainAttributes(Json attributes);

}  // namespace zarrfs

#endif  // ZARRCORE_VIEW_V2_ATTRIBUTES_H_
