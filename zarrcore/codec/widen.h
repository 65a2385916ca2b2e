// Widens elements of types that few readers support to a core type that holds all their values.
#pragma once

#include <optional>

#include "zarrcore/base/result.h"
#include "zarrcore/codec/codec.h"

namespace zarrfs {

/// Returns the wider type for elements of `type`: int8 for int2 and int4; uint8 for uint2, uint4
/// and bool; float32 for float16, bfloat16 and smaller floats; complex64 for complex numbers of
/// these floats; int64 for dates. Returns nullopt for any other type.
[[nodiscard]] std::optional<DataType> WideTypeOf(const DataType& type);

/// Converts little-endian `elements` of `type` to WideTypeOf(type), which must exist. The
/// conversion is exact, including the payload of NaNs in IEEE 754 formats.
[[nodiscard]] Bytes Widen(Bytes elements, const DataType& type);

}  // namespace zarrfs
