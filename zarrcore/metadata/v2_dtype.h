// The "dtype" of a Zarr v2 array as the data type that zarr.json gives the same elements.
//
// Zarr v2 specification, "Data type encoding": numpy's array protocol strings ("<f8", "|S12",
// ">M8[10us]"), lists of fields, and "|O", whose elements only a filter can tell.
#ifndef ZARRCORE_METADATA_V2_DTYPE_H_
#define ZARRCORE_METADATA_V2_DTYPE_H_

#include <cstddef>
#include <string>
#include <string_view>

#include "zarrcore/base/result.h"
#include "zarrcore/metadata/json.h"

namespace zarrfs {

inline constexpr size_t kMaxArrayParts = 4096;

/// A number, or bool, of numpy.
struct NumpyNumber {
  std::string_view code;       // without byte order: "i4"
  std::string_view data_type;  // of zarr.json: "int32"
  size_t item_size;            // bytes
};

/// Null if no number has that code.
[[nodiscard]] const NumpyNumber* FindNumpyNumber(std::string_view code);

/// "i4" for "<i4", ">i4", "=i4", "|i4" and "i4".
[[nodiscard]] std::string_view WithoutByteOrder(std::string_view text);

struct V2Dtype {
  Json data_type;         // as zarr.json has it; null for "|O"
  std::string number;     // of numbers and bool, without the byte order: "i4"; else ""
  char byte_order = '|';  // '<' or '>'; '|' where no part has one
  size_t item_size = 0;   // bytes; 0 for "|O"
  size_t parts = 1;       // of a list of fields: all of them, those of fields too

  [[nodiscard]] bool is_object() const { return data_type.is_null(); }
};

/// As numpy reads them: "i4" and "=i4" are little-endian here, a field without a name is called
/// after its place ("f0"). A field that is an array becomes a structure of its elements, in C order
/// and called "0", "1", ...: v3 has no other type of the same bytes that keeps theirs. kDamaged if
/// it is no dtype; kUnsupported for one that has no v3 data type: long doubles, items of no bytes,
/// objects in fields, fields of different byte orders, arrays of more than kMaxArrayParts elements.
[[nodiscard]] Result<V2Dtype> ParseV2Dtype(const Json& dtype, std::string_view key);

}  // namespace zarrfs

#endif  // ZARRCORE_METADATA_V2_DTYPE_H_
