// Fill values as elements, bit-exact.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "zarrcore/base/result.h"
#include "zarrcore/metadata/data_type.h"
#include "zarrcore/metadata/json.h"

namespace zarrfs {

/// One element in little-endian byte order: item_size bytes, or any number for types of variable
/// length. Unused bits of a narrow number are 0.
using FillBytes = std::vector<std::byte>;

/// Accepts every spelling of the specification, its drafts and its writers: numbers, "NaN",
/// "Infinity", "-Infinity", "+Infinity", the bits as "0x…" or "0b…" (leading zeros are optional),
/// integral floats up to 2^53 for integers, 0/1 for bool, [re, im] or a number for complex, "NaT"
/// or an integer for dates, a list of byte values or base64 for raw and other bytes, text for
/// strings, an object or base64 (of the little-endian element) for structs, null (zero bytes).
/// Texts beyond a fixed length are truncated, as in numpy. kDamaged, with value and type, for
/// anything else and for numbers out of range. Empty for kOther.
[[nodiscard]] Result<FillBytes> ParseFillValue(const Json& document, const DataType& type,
                                               std::string_view key);

/// The v3 spelling of an element: the shortest decimal that reads back to the same bits (for floats
/// of less than 4 bytes, the exact value), "NaN" for the canonical NaN, "0x…" (full width) for any
/// other, "Infinity", "-Infinity", exact integers, [re, im], a list of byte values for raw, base64
/// for other bytes, an object for structs. `fill` must be an element of `type`; null for kOther.
[[nodiscard]] Json FillValueToV3(const FillBytes& fill, const DataType& type);

/// Decodes the attribute "_FillValue" (CF conventions) in the spellings of xarray and others in v3:
/// a number, "NaN", "Infinity" or "-Infinity", decimal text or base64 of a little-endian float64
/// for floats, two such for complex, integers, "NaT" for dates, base64 for bytes, text for strings;
/// also as a list of one. nullopt for anything else and for values out of range.
[[nodiscard]] std::optional<FillBytes> DecodeFillAttribute(const Json& attribute,
                                                           const DataType& type);

}  // namespace zarrfs
