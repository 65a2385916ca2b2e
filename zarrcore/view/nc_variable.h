// Arrays and attributes in NetCDF's classic formats.
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

/// How the elements of an array become values of a variable.
struct NcElements {
  NcType type = NcType::kByte;
  ElementForm form;
  uint64_t text_bytes = 0;  // for kChar: length of the additional dimension
};

/// In CDF-`version`, 2 or 5. No information is lost: bool becomes byte, float16 and smaller floats
/// become float, texts become characters in UTF-8 (texts of variable length only if the longest is
/// `known`), dates become integers that CF attributes explain. In CDF-2, unsigned integers become
/// the next larger signed ones; 64-bit integers (and uint32) become int, if all values fit
/// according to `known` or valid_range. kUnsupported with the reason if the format lacks the type.
[[nodiscard]] Result<NcElements> NcElementsOf(const ArrayMetadata& array, int version,
                                              const std::optional<ElementRange>& known);

/// Whether NcElementsOf() depends on `known`.
[[nodiscard]] bool NeedsScan(const ArrayMetadata& array);

/// Attributes of a group in CDF-`version`. Numbers are int, in CDF-5 also int64, or double. A value
/// that is neither a number, a text nor a list of numbers becomes its JSON text.
[[nodiscard]] std::vector<NcAttribute> NcAttributesOf(const Json& attributes, int version);

/// Attributes of an array with the values `elements`. CF attributes that must have the type of the
/// values (valid_range, missing_value, …) get it if it can hold them, dates get CF's units, and
/// _FillValue is the value that xarray masks. An attribute that is invalid for its name is omitted,
/// with a line in `notes`.
[[nodiscard]] std::vector<NcAttribute> NcAttributesOf(const ArrayMetadata& array,
                                                      const NcElements& elements, int version,
                                                      std::vector<std::string>& notes);

/// Makes a valid NetCDF name; at least one character.
[[nodiscard]] std::string NcName(std::string name);

}  // namespace zarrfs
