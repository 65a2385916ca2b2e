// NetcdfHeader: the header of a file in one of NetCDF's classic formats, CDF-2 ("64-bit offset")
// and CDF-5 ("64-bit data"). See "File Format Specifications" in the NetCDF documentation.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "zarrcore/metadata/data_type.h"

namespace zarrfs {

/// The NetCDF types, with their numbers in the file. CDF-2 has only the types up to kDouble.
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

/// Returns the size of one value of `type` in bytes.
[[nodiscard]] size_t SizeOf(NcType type);
/// Returns the equivalent data type of the Zarr core specification; uint8 for kChar.
[[nodiscard]] DataType DataTypeOf(NcType type);

struct NcDimension {
  std::string name;
  uint64_t length = 0;  // 0 for the record dimension, of which a file has at most one
};

struct NcAttribute {
  std::string name;
  NcType type = NcType::kChar;
  std::string values;  // the values in big-endian order
};

struct NcVariable {
  std::string name;
  std::vector<size_t> dimensions;  // indexes in NetcdfHeader::dimensions
  std::vector<NcAttribute> attributes;
  NcType type = NcType::kByte;
  // The size of all values in bytes, or of one record if the variable has records.
  uint64_t size = 0;
  uint64_t begin = 0;  // the offset of the values in the file
};

struct NetcdfHeader {
  std::vector<NcDimension> dimensions;
  std::vector<NcAttribute> attributes;
  std::vector<NcVariable> variables;

  /// Encodes the header for CDF-`version`, which is 2 or 5. The length of the result does not
  /// depend on the variables' `begin`, so it is known before they are.
  [[nodiscard]] std::string Encode(int version) const;
};

/// Limits of CDF-2: the size in bytes of a variable other than the last, and the length of a
/// dimension.
inline constexpr uint64_t kMaxCdf2Size = (uint64_t{1} << 32) - 4;
inline constexpr uint64_t kMaxCdf2Length = (uint64_t{1} << 31) - 4;

}  // namespace zarrfs
