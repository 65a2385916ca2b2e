// Attributes as readers of Zarr v2 can take them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "zarrcore/metadata/json.h"
#include "zarrcore/metadata/metadata.h"

namespace zarrfs {

inline constexpr const char* kDimensionsAttribute = "_ARRAY_DIMENSIONS";

/// The attribute _ARRAY_DIMENSIONS: a name for each dimension, which xarray, GDAL and netCDF-C
/// need: that of dimension_names; where that is absent or null, of the attribute; else one made of
/// place and length. The same name does not come with two lengths in one array; with `with_lengths`
/// not in any two. `plain`: as PlainName makes them.
[[nodiscard]] Json DimensionNames(const ArrayMetadata& metadata, bool plain, bool with_lengths);

/// The names that are given, as PlainName makes them; "" where there is none.
[[nodiscard]] std::vector<std::string> PlainDimensionNames(const ArrayMetadata& metadata);

/// A name that netCDF-C 4.9 can take, which truncates others or crashes: no slash, no control
/// character, no space at the beginning, at most kMaxPlainName bytes.
[[nodiscard]] std::string PlainName(std::string name);
inline constexpr size_t kMaxPlainName = 200;

/// `attributes` as netCDF-C 4.9 can take them, which refuses the whole store for one that it
/// cannot: every value that is neither a number, a text, an object nor a list of numbers is the
/// text that it is in JSON; the numbers of a list all fit the smallest type that its first one
/// fits, or are floats. Names are plain ones; an attribute without a name is left out.
[[nodiscard]] Json PlainAttributes(const Json& attributes);

/// Makes text of NaN and infinities, anywhere: JSON has no such numbers, and jzarr refuses a
/// .zattrs with one.
void MakeStrict(Json& value);

/// Adds the attribute _NCZARR_ATTR, which states the type of _FillValue, where netCDF-C 4.9.0 would
/// infer another type than the array's (`dtype`) from how the number is written: it could not copy
/// the variable then. (Later versions need no such help; 4.9.3 and later show it, as a text.)
void TypeFillAttribute(Json& attributes, const std::string& dtype);

/// The note on an attribute that a view leaves out because its readers expect `wanted` there.
[[nodiscard]] std::string LeftOut(std::string_view name, const Json& value,
                                  std::string_view wanted);

/// `attributes`, without a _FillValue that is no value of the type, and a line in `notes` on it.
[[nodiscard]] Json WithValidFill(Json attributes, const DataType& type,
                                 std::vector<std::string>& notes);

/// For readers of NetCDF, which has no type of truth values: `attributes` with "dtype": "bool", by
/// which xarray makes them of bytes again. Not where a value is masked, which would become true;
/// and another text stays. Of any other data type: `attributes`.
[[nodiscard]] Json WithBoolType(Json attributes, const DataType& type,
                                std::vector<std::string>& notes);

/// Whether the value of _ARRAY_DIMENSIONS names `rank` dimensions, of which some may be null.
[[nodiscard]] bool AreDimensionNames(const Json& value, size_t rank);

/// For readers that know dates only as numbers: `attributes` and what of those of the CF
/// conventions ("Time Coordinate") they lack to say what the integers of numpy.datetime64 and
/// numpy.timedelta64 mean: "_FillValue", the integer that is "not a time"; "units" and, of a point
/// in time, "calendar"; or, where CF has no such unit (years, picoseconds, steps of 10 us),
/// "zarr_dtype", numpy's name of the type. An attribute that is there stays as it is, and with
/// "units" of its own no "calendar" is added. One of these that is of the wrong type is left out,
/// with a line in `notes`. Of any other data type: `attributes`.
[[nodiscard]] Json WithCfTime(Json attributes, const DataType& type,
                              std::vector<std::string>& notes);

}  // namespace zarrfs
