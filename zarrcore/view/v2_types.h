// Data types and fill values as Zarr v2 spells them: the "dtype" and "fill_value" of .zarray.
//
// v2 uses numpy's types. Elements of types that numpy lacks (bfloat16, float8_*, int4, and
// complex_* of these) are shown as stored in the chunk, as opaque bytes such as "|V2".
#pragma once

#include "zarrcore/base/result.h"
#include "zarrcore/metadata/fill_value.h"

namespace zarrfs {

/// Returns the v2 dtype of elements stored in `byte_order`, which is '<' or '>': a string, or for a
/// struct a list of [name, dtype]. Strings and bytes of variable length are "|O", which readers
/// understand only with the filter for their codec ("vlen-utf8", "vlen-bytes"). kUnsupported for
/// DataKind::kOther; the message names the type.
[[nodiscard]] Result<Json> V2TypeOf(const DataType& type, char byte_order);

/// Returns the v2 fill value for `fill`, which must be an element of `type`. NaNs lose their
/// payload. Opaque bytes, fixed-length bytes and structs are base64; opaque bytes and structs are
/// as stored in a chunk. Null for values that v2 cannot express, for bytes of variable length, and
/// for points in time without a unit, because readers must not fill missing chunks with another
/// value.
[[nodiscard]] Json V2FillOf(const FillBytes& fill, const DataType& type, char byte_order);

}  // namespace zarrfs
