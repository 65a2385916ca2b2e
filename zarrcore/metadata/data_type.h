// Data types: those of the Zarr v3 core specification (section "Data types"), r<N>, and the
// extension types of zarr-extensions whose elements have a known layout.
#ifndef ZARRCORE_METADATA_DATA_TYPE_H_
#define ZARRCORE_METADATA_DATA_TYPE_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "zarrcore/base/result.h"
#include "zarrcore/metadata/json.h"

namespace zarrfs {

enum class DataKind {
  // Of the core specification.
  kBool,
  kInt,
  kUint,
  kFloat,    // IEEE 754 binary16, 32, 64
  kComplex,  // two floats of 4 or 8 bytes
  kRaw,      // r<N>, raw_bytes: opaque bytes
  // Extension types of a fixed size.
  kNarrowInt,            // int2, int4: one byte; upper bits mean nothing
  kNarrowUint,           // uint2, uint4
  kNarrowFloat,          // bfloat16, float8_*, float6_*, float4_*: see FloatFormat
  kNarrowComplex,        // two narrow floats or two float16
  kDatetime,             // numpy.datetime64: an int64, the smallest of which is "not a time"
  kTimedelta,            // numpy.timedelta64
  kFixedLengthUtf32,     // code points of 4 bytes, zeros at the end
  kNullTerminatedBytes,  // bytes, zeros at the end
  kStruct,               // struct, structured: fields one after the other, without padding
  // Extension types whose elements have each a length of their own: item_size is 0.
  kString,  // UTF-8
  kBytes,   // bytes, variable_length_bytes, binary
  // Any other: known by name only.
  kOther,
};
inline constexpr size_t kDataKinds = static_cast<size_t>(DataKind::kOther) + 1;

struct StructField;

struct DataType {
  std::string name;  // in the core spelling: "uint16", "complex64", "r24"; else as it stands
  DataKind kind = DataKind::kOther;
  size_t item_size = 0;             // bytes an element; 0 where it varies or is not known
  Json document = {};               // as it stood in zarr.json; null for a field
  std::string time_unit = {};       // of dates, as numpy writes it: "us", "D", "generic"
  uint32_t time_scale = 1;          // of dates: units an integer step
  std::vector<StructField> fields;  // of structs: never empty, names unique

  /// Bytes that are reversed together to change the byte order: the item, or a part of it. 1 where
  /// there is nothing to reverse; of a struct, the largest of its fields' (see ReverseByteOrder).
  [[nodiscard]] size_t byte_order_unit() const;
  [[nodiscard]] bool is_core() const { return kind <= DataKind::kRaw; }
};

struct StructField {
  std::string name;
  DataType type;  // of a fixed size
};

/// Largest element of a type whose size is stated in zarr.json. (An array has one in memory: its
/// fill value.)
inline constexpr size_t kMaxItemBytes = 16u << 20;
inline constexpr int kMaxStructDepth = 16;

/// Accepts the short string and the object {"name": ...}; complex_float32/64 are the other spelling
/// of complex64/128; raw_bytes {length_bytes: n} is r<8n>; the fields of a struct are objects or
/// pairs. kDamaged if the document is no data type at all ("r7", a number, a struct without
/// fields, ...); kUnsupported for a core type with members or a configuration that it does not
/// have, and for raw bytes beyond kMaxItemBytes. An unknown name gives kOther; so does an extension
/// type that says more than is known here, or is larger or deeper than the caps, or has a field of
/// no known size.
[[nodiscard]] Result<DataType> ParseDataType(const Json& document, std::string_view key);

/// Reverses the bytes of every part of every element that has a byte order: little-endian <->
/// big-endian. `elements` are whole elements of a fixed size.
void ReverseByteOrder(std::span<std::byte> elements, const DataType& type);

}  // namespace zarrfs

#endif  // ZARRCORE_METADATA_DATA_TYPE_H_
