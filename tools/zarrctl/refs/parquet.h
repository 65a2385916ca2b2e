// Makes Parquet files with one row group, and with the few types that tables of references need:
// plain values in pages compressed with zstd. Does no I/O. See
// https://parquet.apache.org/docs/file-format.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "zarrcore/base/result.h"

namespace zarrfs::ctl {

struct ParquetColumn {
  enum class Type { kInteger, kText, kBytes };
  std::string name;
  Type type = Type::kInteger;
  std::vector<int64_t> integers = {};                  // only for kInteger; no value is missing
  std::vector<std::optional<std::string>> texts = {};  // for the other types

  [[nodiscard]] size_t size() const {
    return type == Type::kInteger ? integers.size() : texts.size();
  }
};

/// Returns the contents of a Parquet file with these columns. All columns must have the same number
/// of rows, below 2^31, and each must have less than 2 GiB.
[[nodiscard]] Result<std::string> MakeParquet(const std::vector<ParquetColumn>& columns);

}  // namespace zarrfs::ctl
