// The data types of the Zarr v3 core specification (section "Data types"), r<N>, and the types of
// zarr-extensions whose elements have a known layout.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "zarrcore/base/result.h"
#include "zarrcore/metadata/float_format.h"
#include "zarrcore/metadata/json.h"

namespace zarrfs {

enum class DataKind {
  // Types of the core specification.
  kBool,
  kInt,
  kUint,
  kFloat,    // IEEE 754 binary16, binary32 or binary64
  kComplex,  // two floats of 4 or 8 bytes
  kRaw,      // r<N>, raw_bytes: opaque bytes
  // Extension types whose elements have a fixed size.
  kNarrowInt,            // int2, int4: one byte; upper bits are unused
  kNarrowUint,           // uint2, uint4
  kNarrowFloat,          // bfloat16, float8_*, float6_*, float4_*: see FloatFormat
  kNarrowComplex,        // two narrow floats or two float16
  kDatetime,             // numpy.datetime64: an int64; the smallest int64 is "not a time"
  kTimedelta,            // numpy.timedelta64
  kFixedLengthUtf32,     // code points of 4 bytes each, padded with zeros
  kNullTerminatedBytes,  // a string of bytes, padded with zeros
  kStruct,               // struct, structured: fields without padding
  // Extension types whose elements vary in length. Their DataType::item_size is 0.
  kString,  // string, in UTF-8
  kBytes,   // bytes, variable_length_bytes, binary
  // Any other type.
  kOther,
};
inline constexpr size_t kDataKinds = static_cast<size_t>(DataKind::kOther) + 1;

struct StructField;

struct DataType {
  std::string name;  // core types as in the specification: "uint16", "r24"; other types as written
  DataKind kind = DataKind::kOther;
  // Bytes per element; 0 if elements vary in length, or if unknown.
  size_t item_size = 0;
  // The value of "data_type" in zarr.json; null for a struct's field.
  Json document = {};
  std::string time_unit = {};       // for dates: the unit as numpy writes it: "us", "D", "generic"
  uint32_t time_scale = 1;          // for dates: how many time units an increment by 1 is
  std::vector<StructField> fields;  // the fields of a struct, at least one, with unique names

  /// The number of bytes in each unit that is reversed to change the byte order of an element: the
  /// whole element, or a part of it. 1 if nothing is reversed. For a struct, the maximum over its
  /// fields; see ReverseByteOrder().
  [[nodiscard]] size_t byte_order_unit() const;
  [[nodiscard]] bool is_core() const { return kind <= DataKind::kRaw; }
  [[nodiscard]] bool is_date() const {
    return kind == DataKind::kDatetime || kind == DataKind::kTimedelta;
  }
  [[nodiscard]] bool is_complex() const {
    return kind == DataKind::kComplex || kind == DataKind::kNarrowComplex;
  }
  [[nodiscard]] bool is_signed_integer() const {
    return kind == DataKind::kInt || kind == DataKind::kNarrowInt || is_date();
  }
  /// The number of significant bits of a bool, an integer or a date; 0 for any other type.
  [[nodiscard]] size_t integer_bits() const;
  /// The format of a float, or of the parts of a complex number; null for any other type.
  [[nodiscard]] const FloatFormat* float_format() const;
};

struct StructField {
  std::string name;
  DataType type;  // always of a fixed size
};

/// Maximum size in bytes of an element whose type states its size in zarr.json. Each array keeps
/// one element in memory, the fill value.
inline constexpr size_t kMaxItemBytes = 16u << 20;
inline constexpr int kMaxStructDepth = 16;

/// Parses a data type: a name, or an object {"name": ...}. complex_float32/64 are the same as
/// complex64/128, and raw_bytes {length_bytes: n} is the same as r<8n>. The fields of a struct are
/// objects or pairs. kDamaged if the document is not a data type, for example "r7", a number, or a
/// struct without fields. kUnsupported for a core type with unknown members or configuration, and
/// for raw bytes longer than kMaxItemBytes. The kind is kOther if the name is unknown, or if an
/// extension type has an unknown member or unit, exceeds a limit, has length 0, or has a field of
/// unknown size.
[[nodiscard]] Result<DataType> ParseDataType(const Json& document, std::string_view key);

/// Returns the type of the core specification called `name`, which must exist.
[[nodiscard]] DataType CoreType(std::string_view name);

/// Converts elements between little-endian and big-endian. Reverses the bytes of each part that has
/// a byte order. `elements` must be whole elements of a fixed size.
void ReverseByteOrder(std::span<std::byte> elements, const DataType& type);

/// The bytes [first, end) of an element.
struct ByteRun {
  size_t first = 0;
  size_t end = 0;
};
/// Like the overload above, but reverses only the parts of each element that lie within `runs`.
/// `runs` must be sorted.
void ReverseByteOrder(std::span<std::byte> elements, const DataType& type,
                      std::span<const ByteRun> runs);

}  // namespace zarrfs
