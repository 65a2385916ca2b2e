// A chunk file of a mount: its size, and how the view makes it from the stored chunk.
#ifndef TOOLS_ZARRCTL_VIEW_FILE_H_
#define TOOLS_ZARRCTL_VIEW_FILE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "tools/zarrctl/target.h"
#include "zarrcore/array/chunk_source.h"
#include "zarrcore/base/result.h"

namespace zarrfs::ctl {

struct ViewFile {
  std::string_view view;               // its name
  std::optional<uint64_t> size;        // in bytes; nullopt: there is no such file
  std::optional<std::string> failure;  // why the mount cannot be asked
  /// "exact", "cut", "patched", "recompressed", "transcoded" or "fill"; "" where there is no file.
  std::string_view serving;
  std::string text;  // all that in words
};

/// `chunk` was named by a path below a mount, and its view is known. `location`: nullopt if the
/// store does not hold it.
[[nodiscard]] Result<ViewFile> DescribeViewFile(const TargetChunk& chunk,
                                                const std::optional<ChunkLocation>& location);

}  // namespace zarrfs::ctl

#endif  // TOOLS_ZARRCTL_VIEW_FILE_H_
