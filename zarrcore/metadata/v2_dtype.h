// Converts the "dtype" of a Zarr v2 array to the data type of the same elements in zarr.json.
//
// Zarr v2 specification, "Data type encoding": numpy's array protocol strings ("<f8", "|S12",
// ">M8[10us]"), lists of fields, and "|O", whose type only a filter determines.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "zarrcore/base/result.h"
#include "zarrcore/metadata/data_type.h"
#include "zarrcore/metadata/json.h"

namespace zarrfs {

inline constexpr size_t kMaxArrayParts = 4096;

/// A number type of numpy, or bool.
struct NumpyNumber {
  std::string_view code;       // without byte order: "i4"
  std::string_view data_type;  // of zarr.json: "int32"
  size_t item_size;            // bytes
};

/// Null if no type has that code.
[[nodiscard]] const NumpyNumber* FindNumpyNumber(std::string_view code);

/// "i4" for "<i4", ">i4", "=i4", "|i4" and "i4".
[[nodiscard]] std::string_view WithoutByteOrder(std::string_view text);

struct V2Dtype {
  Json data_type;         // as in zarr.json; null for "|O"
  std::string number;     // NumpyNumber::code; "" for other types
  char byte_order = '|';  // '<' or '>'; '|' if no part has one
  size_t item_size = 0;   // bytes; 0 for "|O"
  size_t parts = 1;       // number of fields, including nested ones
  /// If parts have different byte orders, those that are big-endian; `byte_order` is '<' then.
  std::vector<ByteRun> big = {};

  [[nodiscard]] bool is_object() const { return data_type.is_null(); }
};

/// Parses a dtype like numpy: "i4" and "=i4" are little-endian here, and a field without a name is
/// named after its index ("f0"). A field that is an array becomes a structure of its elements, in C
/// order and named "0", "1", ...: v3 has no other type with that layout. kDamaged if it is not a
/// dtype; kUnsupported if v3 has no such type: long doubles, empty items, objects in fields, arrays
/// of more than kMaxArrayParts elements.
[[nodiscard]] Result<V2Dtype> ParseV2Dtype(const Json& dtype, std::string_view key);

}  // namespace zarrfs
