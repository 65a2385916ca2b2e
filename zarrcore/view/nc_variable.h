// Converts arrays and attributes to variables and attributes of NetCDF's classic formats.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "zarrcore/base/result.h"
#include "zarrcore/metadata/json.h"
#include "zarrcore/metadata/metadata.h"
#include "zarrcore/view/assembled_file.h"
#include "zarrcore/view/netcdf_header.h"

namespace zarrfs {

/// How the elements of an array are converted to values of a variable.
struct NcElements {
  NcType type = NcType::kByte;
  ElementForm form;
  uint64_t text_bytes = 0;  // for kChar: the length of the last dimension, which holds a string
};

/// Decides how to write an array in CDF-`version`, which is 2 or 5, without loss. bool becomes
/// byte; float16 and smaller floats become float; strings become characters in UTF-8 (strings of
/// variable length only with `known`); dates become integers that CF attributes explain. In CDF-2,
/// unsigned integers become the next larger signed type. 64-bit integers and uint32 become int if
/// all values fit according to `known` or valid_range. `known`: the result of a scan of the
/// elements; nullopt without a scan. kUnsupported with the reason if the format lacks the type.
[[nodiscard]] Result<NcElements> NcElementsOf(const ArrayMetadata& array, int version,
                                              const std::optional<ElementRange>& known);

/// True if NcElementsOf() can use a scan of the array's elements.
[[nodiscard]] bool NeedsScan(const ArrayMetadata& array);

/// Converts the attributes of a group to CDF-`version`. Numbers get the type that NCZarr's metadata
/// state, otherwise int or double, in CDF-5 also int64 or uint64. Booleans become byte. Any other
/// value except strings and lists of numbers is stored as a JSON string.
[[nodiscard]] std::vector<NcAttribute> NcAttributesOf(const Json& attributes, int version);

/// Converts the attributes of an array whose values are `elements`. CF attributes that must have
/// the type of the values, such as valid_range, get that type if it can represent them. Dates get
/// CF's units. _FillValue is the value that xarray masks. An attribute with an invalid value is
/// left out, and a line that says so is added to `notes`.
[[nodiscard]] std::vector<NcAttribute> NcAttributesOf(const ArrayMetadata& array,
                                                      const NcElements& elements, int version,
                                                      std::vector<std::string>& notes);

/// Converts `name` to a valid NetCDF name with at least one character.
[[nodiscard]] std::string NcName(std::string name);

}  // namespace zarrfs
