// Fill values, bit-exact, as the bytes of an element.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "zarrcore/base/result.h"
#include "zarrcore/metadata/data_type.h"
#include "zarrcore/metadata/json.h"

namespace zarrfs {

/// One little-endian element: item_size bytes, or any number of bytes for types of variable length.
/// Unused bits of a narrow number are 0.
using FillBytes = std::vector<std::byte>;

/// Parses a fill value in any spelling that the specification, its drafts or known writers use:
/// numbers, "NaN", "Infinity", "-Infinity", "+Infinity", the bits as "0x…" or "0b…" with optional
/// leading zeros, integral floats up to 2^53 for integers, 0/1 for bool, [re, im] or a number for
/// complex, "NaT" or an integer for dates, a list of byte values or base64 for raw and other bytes,
/// strings for string types, an object or base64 of the little-endian element for structs, null for
/// zero bytes. Strings longer than a fixed length are truncated, as in numpy. kDamaged, with value
/// and type, for anything else and for numbers out of range. Empty for kOther.
[[nodiscard]] Result<FillBytes> ParseFillValue(const Json& document, const DataType& type,
                                               std::string_view key);

/// Returns an element as zarr.json spells it. A float of 4 or 8 bytes is the shortest decimal that
/// reads back to the same bits; a smaller float is exact. The canonical NaN is "NaN", any other NaN
/// "0x…" with all digits; infinities are "Infinity" and "-Infinity". Integers are exact, complex
/// numbers are [re, im], raw bytes are a list of byte values, other bytes are base64, and structs
/// are objects. `fill` must be an element of `type`. Null for kOther.
[[nodiscard]] Json FillValueToV3(const FillBytes& fill, const DataType& type);

/// Decodes the attribute "_FillValue" (CF conventions) of a v3 array, as xarray and other writers
/// spell it. For floats: a number, "NaN", "Infinity", "-Infinity", a decimal string, or base64 of a
/// little-endian float64. For complex numbers: a list of two of these. For integers: an integer.
/// For bool: true, false, 0 or 1. For dates: "NaT" or an integer. For bytes: base64. For strings: a
/// string. The value may be in a list of one item. nullopt for anything else and for values out of
/// range.
[[nodiscard]] std::optional<FillBytes> DecodeFillAttribute(const Json& attribute,
                                                           const DataType& type);

}  // namespace zarrfs
