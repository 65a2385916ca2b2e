// Attributes that readers of Zarr v2 can read.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "zarrcore/metadata/json.h"
#include "zarrcore/metadata/metadata.h"

namespace zarrfs {

inline constexpr const char* kDimensionsAttribute = "_ARRAY_DIMENSIONS";

/// The attribute _ARRAY_DIMENSIONS: a name for each dimension, which xarray, GDAL and netCDF-C
/// need: that of dimension_names; if absent or null, that of the attribute; else one made from
/// place and length. No name has two lengths in one array; with `with_lengths` not in any two
/// arrays. `plain`: converted by PlainName().
[[nodiscard]] Json DimensionNames(const ArrayMetadata& metadata, bool plain, bool with_lengths);

/// The given names, converted by PlainName(); "" for a missing one.
[[nodiscard]] std::vector<std::string> PlainDimensionNames(const ArrayMetadata& metadata);

/// A name that netCDF-C 4.9 accepts; it truncates others or crashes: no slash, no control
/// character, no space at the beginning, at most kMaxPlainName bytes.
[[nodiscard]] std::string PlainName(std::string name);
inline constexpr size_t kMaxPlainName = 200;

/// `attributes` converted for netCDF-C 4.9, which refuses the whole store for one invalid
/// attribute: a value that is neither a number, a text, an object nor a list of numbers becomes its
/// JSON text; the numbers of a list all fit the smallest type of the first one, or become floats.
/// Names become plain ones; an attribute without a name is omitted.
[[nodiscard]] Json PlainAttributes(const Json& attributes);

/// Turns NaN and infinities into text, at any depth: JSON has no such numbers, and jzarr refuses a
/// .zattrs with one.
void MakeStrict(Json& value);

/// Adds the attribute _NCZARR_ATTR, which states the type of _FillValue, if netCDF-C 4.9.0 would
/// infer a type other than the array's (`dtype`) from the spelling of the number: then it could not
/// copy the variable. Later versions do not need it; 4.9.3 and later show it, as a text.
void TypeFillAttribute(Json& attributes, const std::string& dtype);

/// The note on an attribute that a view omits because its readers expect `wanted` there.
[[nodiscard]] std::string LeftOut(std::string_view name, const Json& value,
                                  std::string_view wanted);

/// `attributes` without a _FillValue that is not a value of the type, with a line in `notes` on it.
[[nodiscard]] Json WithValidFill(Json attributes, const DataType& type,
                                 std::vector<std::string>& notes);

/// For readers of NetCDF, which lacks booleans: `attributes` with "dtype": "bool", by which xarray
/// converts bytes back to bool. Not added if a value is masked, which would become true; another
/// "dtype" stays. Other data types: `attributes`.
[[nodiscard]] Json WithBoolType(Json attributes, const DataType& type,
                                std::vector<std::string>& notes);

/// Whether the value of _ARRAY_DIMENSIONS names `rank` dimensions, some of which may be null.
[[nodiscard]] bool AreDimensionNames(const Json& value, size_t rank);

/// For readers that know dates only as numbers: `attributes` plus the missing attributes of the CF
/// conventions ("Time Coordinate") that explain the integers of numpy.datetime64 and
/// numpy.timedelta64: "_FillValue", the integer for "not a time"; "units" and, for a point in time,
/// "calendar"; or, if CF lacks the unit (years, picoseconds, steps of 10 us), "zarr_dtype", numpy's
/// name of the type. Existing attributes stay, and an array with its own "units" gets no
/// "calendar". An attribute of the wrong type is omitted, with a line in `notes`. Other data types:
/// `attributes`.
[[nodiscard]] Json WithCfTime(Json attributes, const DataType& type,
                              std::vector<std::string>& notes);

}  // namespace zarrfs
