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

struct V2Dtype {
  Json data_type;         // as zarr.json has it; null for "|O"
  std::string number;     // of numbers and bool, without the byte order: "i4"; else ""
  char byte_order = '|';  // '<' or '>'; '|' where no part has one
  size_t item_size = 0;   // bytes; 0 for "|O"

  [[nodiscard]] bool is_object() const { return data_type.is_null(); }
};

/// kDamaged if it is no dtype; kUnsupported for one that has no v3 data type: long doubles, items
/// of no bytes, fields that are arrays, objects in fields, fields of different byte orders.
[[nodiscard]] Result<V2Dtype> ParseV2Dtype(const Json& dtype, std::string_view key);

}  // namespace zarrfs

#endif  // ZARRCORE_METADATA_V2_DTYPE_H_
