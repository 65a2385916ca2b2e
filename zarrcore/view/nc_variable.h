// What an array, and attributes, are in one of NetCDF's classic formats.
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

/// How the elements of an array are values of a variable.
struct NcElements {
  NcType type = NcType::kByte;
  ElementForm form;
  uint64_t text_bytes = 0;  // of kChar: the length of one more dimension
};

/// In CDF-`version`, 2 or 5. Nothing that a value says is lost: bool is byte, float16 and smaller
/// floats are float, texts are characters of UTF-8 (those of variable length where the longest is
/// `known`), dates are the integers that CF attributes explain. In CDF-2, integers without a sign
/// are the next larger ones with a sign, and those of 64 bits (and uint32) int, where `known`, or
/// valid_range, says that all fit. kUnsupported with the reason if the format has no such type.
[[nodiscard]] Result<NcElements> NcElementsOf(const ArrayMetadata& array, int version,
                                              const std::optional<ElementRange>& known);

/// Whether NcElementsOf() depends on `known`.
[[nodiscard]] bool NeedsScan(const ArrayMetadata& array);

/// Attributes of a group in CDF-`version`. Numbers are int, in CDF-5 also int64, or double; what is
/// neither a number, a text nor a list of numbers is the text that it is in JSON.
[[nodiscard]] std::vector<NcAttribute> NcAttributesOf(const Json& attributes, int version);

/// Attributes of an array whose values are `elements`: those of CF that have the type of the
/// values (valid_range, missing_value, …) have it where it holds them, dates have CF's units, and
/// _FillValue is that which xarray masks. An attribute that cannot be what its name says is left
/// out, with a line in `notes`.
[[nodiscard]] std::vector<NcAttribute> NcAttributesOf(const ArrayMetadata& array,
                                                      const NcElements& elements, int version,
                                                      std::vector<std::string>& notes);

/// A name as NetCDF allows it; at least one character.
[[nodiscard]] std::string NcName(std::string name);

}  // namespace zarrfs
