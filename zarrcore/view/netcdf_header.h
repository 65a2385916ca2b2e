// NetcdfHeader: the header of a file in one of NetCDF's classic formats, CDF-2 ("64-bit offset")
// and CDF-5 ("64-bit data"): "File Format Specifications" in the NetCDF documentation.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "zarrcore/metadata/data_type.h"

namespace zarrfs {

/// Numbered as in the format; CDF-2 ends with kDouble.
enum class NcType : uint32_t {
  kByte = 1,
  kChar,
  kShort,
  kInt,
  kFloat,
  kDouble,
  kUbyte,
  kUshort,
  kUint,
  kInt64,
  kUint64,
};

/// Size of one value in bytes.
[[nodiscard]] size_t SizeOf(NcType type);
/// The equivalent type of the core specification; for kChar, uint8.
[[nodiscard]] DataType DataTypeOf(NcType type);

struct NcDimension {
  std::string name;
  uint64_t length = 0;  // 0: the record dimension, without records; at most one per file
};

struct NcAttribute {
  std::string name;
  NcType type = NcType::kChar;
  std::string values;  // big-endian
};

struct NcVariable {
  std::string name;
  std::vector<size_t> dimensions;  // their numbers
  std::vector<NcAttribute> attributes;
  NcType type = NcType::kByte;
  uint64_t size = 0;   // size of its values in bytes; of one record, if it has records
  uint64_t begin = 0;  // offset in the file
};

struct NetcdfHeader {
  std::vector<NcDimension> dimensions;
  std::vector<NcAttribute> attributes;
  std::vector<NcVariable> variables;

  /// `version`: 2 or 5. The length does not depend on the variables' `begin`.
  [[nodiscard]] std::string Encode(int version) const;
};

/// Maximum size of a CDF-2 variable that need not be the last, and of its dimensions.
inline constexpr uint64_t kMaxCdf2Size = (uint64_t{1} << 32) - 4;
inline constexpr uint64_t kMaxCdf2Length = (uint64_t{1} << 31) - 4;

}  // namespace zarrfs
