// Parquet files of one row group, with the few types that tables of references have
// (https://parquet.apache.org/docs/file-format): a writer of plain values in pages compressed with
// zstd. Pure: rows in, bytes out.
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
  std::vector<int64_t> integers = {};                  // of kInteger: none is missing
  std::vector<std::optional<std::string>> texts = {};  // of the others

  [[nodiscard]] size_t size() const {
    return type == Type::kInteger ? integers.size() : texts.size();
  }
};

/// The file. All columns have the same number of rows, below 2^31, and each less than 2 GiB.
[[nodiscard]] Result<std::string> MakeParquet(const std::vector<ParquetColumn>& columns);

}  // namespace zarrfs::ctl
