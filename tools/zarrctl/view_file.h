// A chunk file of a mount, as the mount itself has it: its size, and what the view makes of the
// stored chunk.
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
  std::optional<std::string> failure;  // why the mount does not tell
  /// "exact", "cut", "patched", "recompressed", "transcoded" or "fill"; "" where there is no file.
  std::string_view serving;
  std::string text;  // all that in words
};

/// Of a chunk that a path below a mount names, whose view is known. `place`: where the store has
/// it.
[[nodiscard]] Result<ViewFile> DescribeViewFile(const TargetChunk& chunk,
                                                const std::optional<ChunkLocation>& place);

}  // namespace zarrfs::ctl

#endif  // TOOLS_ZARRCTL_VIEW_FILE_H_
