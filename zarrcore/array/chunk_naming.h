// ChunkNaming: the names of chunks, as keys in a store and as files in a view: "c/0/3/1",
// "c.0.3.1", "0/3/1" or "0.3.1". In a store they may also have a suffix: "c/0/3/1.tiff". See core
// specification, "Chunk key encoding".
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "zarrcore/array/chunk_grid.h"
#include "zarrcore/metadata/metadata.h"

namespace zarrfs {

struct ChunkNaming {
  bool prefix_c = false;
  char separator = '.';
  std::string suffix = {};  // empty for files in a view
  bool operator==(const ChunkNaming&) const = default;

  [[nodiscard]] static ChunkNaming Of(const ChunkKeyEncoding& encoding) {
    return {encoding.kind == ChunkKeyEncoding::Kind::kDefault, encoding.separator, encoding.suffix};
  }

  /// True if the chunks are in nested folders.
  [[nodiscard]] bool nested() const { return separator == '/'; }

  /// Returns the path of a chunk, relative to the array's folder.
  [[nodiscard]] std::string Path(std::span<const uint64_t> coordinates) const;

  /// Returns the folder that contains all chunks, relative to the array's folder: "c" or "".
  [[nodiscard]] std::string_view Folder(size_t rank) const {
    return nested() && prefix_c && rank > 0 ? "c" : "";
  }

  // The functions below parse chunk names. `counts` has the number of chunks along each axis. They
  // return false if no chunk can have the name.

  /// Parses a whole path, relative to the array's folder.
  [[nodiscard]] bool ParsePath(std::span<const uint64_t> counts, std::string_view path,
                               ChunkCoordinates& at) const;

  /// Parses the path of a chunk, or of a folder whose chunks have the first `level` coordinates in
  /// common.
  [[nodiscard]] bool ParsePrefix(std::span<const uint64_t> counts, std::string_view path,
                                 ChunkCoordinates& at, size_t& level) const;

  /// Parses one name in a folder. If `in_array`, that is the array's folder; otherwise, it is the
  /// folder of the chunks whose first `level` coordinates are in `at`. Appends the coordinates in
  /// the name to `at` and adds their number to `level`.
  [[nodiscard]] bool Parse(std::span<const uint64_t> counts, std::string_view name, bool in_array,
                           ChunkCoordinates& at, size_t& level) const;
};

}  // namespace zarrfs
