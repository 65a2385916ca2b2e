// Data types and fill values as Zarr v2 spells them: the "dtype" and "fill_value" of .zarray.
//
// v2 takes its types from numpy. What numpy does not have (bfloat16, float8_*, int4, complex_* of
// these) is opaque bytes there, "|V2": an element is seen as it lies in the chunk.
#pragma once

#include "zarrcore/base/result.h"
#include "zarrcore/metadata/fill_value.h"

namespace zarrfs {

/// The v2 dtype of elements that are stored in `byte_order`, '<' or '>': a string, or of a struct a
/// list of [name, dtype]. Strings and bytes that have each a length of their own are "|O", which
/// readers understand only with the filter that their codec becomes ("vlen-utf8", "vlen-bytes").
/// kUnsupported, naming the type, for kOther.
[[nodiscard]] Result<Json> V2TypeOf(const DataType& type, char byte_order);

/// The v2 fill_value; `fill` must be an element of `type`. NaNs lose their payload. Opaque bytes,
/// fixed-length bytes and structs are base64; opaque bytes and structs as they lie in a chunk.
/// Null for what v2 cannot say, bytes that have each a length of their own and points in time
/// without a unit: readers must not be left to make up a chunk of these.
[[nodiscard]] Json V2FillOf(const FillBytes& fill, const DataType& type, char byte_order);

}  // namespace zarrfs
