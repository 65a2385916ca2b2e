// Data types of the Zarr v3 core specification (section "Data types") plus r<N>, and fill values
// of them, exact to the bit.
#ifndef ZARRCORE_METADATA_DATA_TYPE_H_
#define ZARRCORE_METADATA_DATA_TYPE_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "zarrcore/base/result.h"
#include "zarrcore/metadata/json.h"

namespace zarrfs {

enum class DataKind {
  kBool,
  kInt,
  kUint,
  kFloat,    // IEEE 754 binary16, 32, 64
  kComplex,  // two floats
  kRaw,      // r<N>: opaque bytes
  kOther,    // an extension type: known by name only, of unknown size
};

struct DataType {
  std::string name;  // in the core spelling: "uint16", "complex64", "r24"; else as it stands
  DataKind kind = DataKind::kOther;
  size_t item_size = 0;  // bytes an element; 0 for kOther
  Json document;         // as it stood in zarr.json

  /// Bytes that are reversed to change the byte order: the item, or half of a complex one.
  [[nodiscard]] size_t byte_order_unit() const {
    if (kind == DataKind::kRaw || kind == DataKind::kOther) return 1;
    return kind == DataKind::kComplex ? item_size / 2 : item_size;
  }
  [[nodiscard]] bool is_core() const { return kind != DataKind::kOther; }
};

/// Accepts the short string and the object {"name": ...}; complex_float32/64 are the other spelling
/// of complex64/128; raw_bytes {length_bytes: n} is r<8n>. An unknown name gives kOther.
/// kDamaged if the document is no data type at all ("r7", a number, ...); kUnsupported for a core
/// type with members or a configuration that it does not have, and for r<N> beyond 64 KiB.
[[nodiscard]] Result<DataType> ParseDataType(const Json& document, std::string_view key);

/// One element in little-endian byte order, item_size bytes.
using FillBytes = std::vector<std::byte>;

/// Every spelling of the specification and of its drafts: numbers, "NaN", "Infinity", "-Infinity",
/// "+Infinity", the bits as "0x…" or "0b…" (leading zeros may be left out), integral floats up to
/// 2^53 for integers, 0/1 for bool, [re, im] or a number for complex, a list of byte values or
/// base64 for raw, null (zero bytes). kDamaged, naming value and type, for anything else and for
/// numbers out of range. For kOther: empty.
[[nodiscard]] Result<FillBytes> ParseFillValue(const Json& document, const DataType& type,
                                               std::string_view key);

/// The v3 spelling of an element: shortest decimal that reads back to the same bits (of a float16:
/// its exact value), "NaN" for the canonical NaN, "0x…" (full width) for any other, "Infinity",
/// "-Infinity", exact integers, [re, im], a list of byte values. `fill` must be an element of
/// `type`; null for kOther.
[[nodiscard]] Json FillValueToV3(const FillBytes& fill, const DataType& type);

}  // namespace zarrfs

#endif  // ZARRCORE_METADATA_DATA_TYPE_H_
