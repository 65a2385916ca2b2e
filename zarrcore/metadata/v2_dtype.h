// Converts the "dtype" of a Zarr v2 array to the data type of the same elements in zarr.json.
//
// Dtypes are numpy's array protocol strings such as "<f8", "|S12" and ">M8[10us]", lists of fields,
// and "|O", whose type is known only from a filter. See Zarr v2 specification, "Data type
// encoding".
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

/// A number type of numpy, including bool.
struct NumpyNumber {
  std::string_view code;       // the numpy code without byte order: "i4"
  std::string_view data_type;  // the name in zarr.json: "int32"
  size_t item_size;            // in bytes
};

/// The number type with this code; null if there is none.
[[nodiscard]] const NumpyNumber* FindNumpyNumber(std::string_view code);

/// A code without its byte order: "i4" for "<i4", ">i4", "=i4", "|i4" and "i4".
[[nodiscard]] std::string_view WithoutByteOrder(std::string_view text);

struct V2Dtype {
  Json data_type;         // the value of "data_type" in zarr.json; null for "|O"
  std::string number;     // NumpyNumber::code; "" for other types
  char byte_order = '|';  // '<' or '>'; '|' if byte order does not matter
  size_t item_size = 0;   // in bytes; 0 for "|O"
  size_t parts = 1;       // number of fields, including nested ones
  /// The byte ranges of the big-endian parts of a struct whose parts differ in byte order;
  /// `byte_order` is then '<'.
  std::vector<ByteRun> big = {};

  [[nodiscard]] bool is_object() const { return data_type.is_null(); }
};

/// Parses a dtype as numpy does: "i4" and "=i4" are little-endian, and an unnamed field is named
/// after its index ("f0"). A field that is an array becomes a struct with one field per element,
/// named "0", "1", ... in C order, because v3 has no other type with that layout. kDamaged if
/// `dtype` is malformed. kUnsupported if v3 has no such type: long doubles, empty items, objects in
/// fields, arrays of more than kMaxArrayParts elements.
[[nodiscard]] Result<V2Dtype> ParseV2Dtype(const Json& dtype, std::string_view key);

}  // namespace zarrfs
