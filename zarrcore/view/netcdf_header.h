// NetcdfHeader: the header of a file in one of NetCDF's classic formats, CDF-2 ("64-bit offset")
// and CDF-5 ("64-bit data"), as "File Format Specifications" of the NetCDF documentation has it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "zarrcore/metadata/data_type.h"

namespace zarrfs {

/// The numbers are those of the format; CDF-2 has no type after kDouble.
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

/// Bytes of one value.
[[nodiscard]] size_t SizeOf(NcType type);
/// The type of the core specification that is the same; for kChar, uint8.
[[nodiscard]] DataType DataTypeOf(NcType type);

struct NcDimension {
  std::string name;
  uint64_t length = 0;  // 0: of records, of which there are none; once in a file at most
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
  uint64_t size = 0;   // bytes of its values; of one record, if it has records
  uint64_t begin = 0;  // offset in the file
};

struct NetcdfHeader {
  std::vector<NcDimension> dimensions;
  std::vector<NcAttribute> attributes;
  std::vector<NcVariable> variables;

  /// `version`: 2 or 5. As long whatever the variables' `begin` is.
  [[nodiscard]] std::string Encode(int version) const;
};

/// The largest variable of CDF-2 that need not be the last, and its longest dimension.
inline constexpr uint64_t kMaxCdf2Size = (uint64_t{1} << 32) - 4;
inline constexpr uint64_t kMaxCdf2Length = (uint64_t{1} << 31) - 4;

}  // namespace zarrfs
