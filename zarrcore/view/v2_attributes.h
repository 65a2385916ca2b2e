// Converts attributes to a form that readers of Zarr v2 can read.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "zarrcore/metadata/json.h"
#include "zarrcore/metadata/metadata.h"

namespace zarrfs {

inline constexpr const char* kDimensionsAttribute = "_ARRAY_DIMENSIONS";

/// Returns the value of the attribute _ARRAY_DIMENSIONS, which xarray, GDAL and netCDF-C need: a
/// name for each dimension. The name comes from dimension_names, otherwise from the stored
/// attribute, otherwise from the dimension's index and length. Dimensions of one array that differ
/// in length get different names. `with_lengths`: appends the length to each name, so this also
/// holds for dimensions of different arrays. `plain`: converts names with PlainName().
[[nodiscard]] Json DimensionNames(const ArrayMetadata& metadata, bool plain, bool with_lengths);

/// Returns the stored dimension names, converted with PlainName(); "" for a dimension without a
/// name.
[[nodiscard]] std::vector<std::string> PlainDimensionNames(const ArrayMetadata& metadata);

/// Converts `name` to a name that netCDF-C 4.9 accepts: no slash, no control character, no space at
/// the beginning, and at most kMaxPlainName bytes. netCDF-C truncates other names or crashes.
[[nodiscard]] std::string PlainName(std::string name);
inline constexpr size_t kMaxPlainName = 200;

/// Converts `attributes` for netCDF-C 4.9, which refuses a store with one invalid attribute. The
/// numbers of a list become floats unless all fit into the smallest type of the first number. Any
/// value other than a number, a boolean, a string, an object or a convertible list of numbers
/// becomes a JSON string. Attribute names are converted with PlainName(). An attribute with an
/// empty name is omitted.
[[nodiscard]] Json PlainAttributes(const Json& attributes);

/// Converts NaN and infinities to strings, at any depth of `value`. JSON cannot express these
/// numbers, and jzarr refuses a .zattrs that contains one.
void MakeStrict(Json& value);

/// Adds the attribute _NCZARR_ATTR, which states the type of _FillValue, if netCDF-C 4.9.0 would
/// infer a type other than the array's `dtype` from the value. netCDF-C 4.9.0 could then not copy
/// the variable. Later versions do not need the attribute; 4.9.3 and later show it as a string
/// attribute.
void TypeFillAttribute(Json& attributes, const std::string& dtype);

/// Returns a line for users that says that the view leaves out the attribute `name`, because its
/// readers expect `wanted` instead of `value`.
[[nodiscard]] std::string LeftOut(std::string_view name, const Json& value,
                                  std::string_view wanted);

/// Returns `attributes`. If _FillValue is not a value of `type`, removes it and adds a line that
/// says so to `notes`.
[[nodiscard]] Json WithValidFill(Json attributes, const DataType& type,
                                 std::vector<std::string>& notes);

/// Adds "dtype": "bool" to the `attributes` of an array of booleans. NetCDF has no booleans; with
/// this attribute, xarray converts the bytes back to bool. Adds nothing if a value is masked,
/// because xarray would convert the masked value to true, or if `attributes` already has a "dtype".
[[nodiscard]] Json WithBoolType(Json attributes, const DataType& type,
                                std::vector<std::string>& notes);

/// True if a value of _ARRAY_DIMENSIONS is a list of `rank` names, some of which may be null.
[[nodiscard]] bool AreDimensionNames(const Json& value, size_t rank);

/// Adds the attributes of the CF conventions ("Time Coordinate") that explain the integers of
/// numpy.datetime64 and numpy.timedelta64, for readers without date types. The attributes are
/// "_FillValue", the integer that means "not a time"; "units"; and, for a point in time,
/// "calendar". If CF lacks the unit (years, picoseconds, steps of 10 us), adds "zarr_dtype" with
/// numpy's name of the type. Existing attributes stay, and an array with "units" gets no
/// "calendar". An attribute of the wrong type is left out, and a line that says so is added to
/// `notes`. Attributes of arrays of other types are returned unchanged.
[[nodiscard]] Json WithCfTime(Json attributes, const DataType& type,
                              std::vector<std::string>& notes);

}  // namespace zarrfs
