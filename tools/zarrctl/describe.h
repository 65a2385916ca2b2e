// Arrays, codecs and views in a few words.
#ifndef TOOLS_ZARRCTL_DESCRIBE_H_
#define TOOLS_ZARRCTL_DESCRIBE_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "zarrcore/metadata/metadata.h"
#include "zarrcore/view/hierarchy.h"

namespace zarrfs::ctl {

/// "transpose(1, 0), bytes(little), zstd(3)".
std::string DescribeCodecs(const std::vector<CodecSpec>& codecs);

/// "[4, 6, 8]".
std::string DescribeShape(std::span<const uint64_t> shape);

/// "0.3.1", of a chunk by its number in the grid.
std::string ChunkName(uint64_t chunk, const ChunkGrid& grid);

/// In today's v3 spelling; of extension types as it stands in the metadata.
Json FillValueJson(const ArrayMetadata& metadata);

/// "group", "array", or "unusable" where the zarr.json cannot be used.
std::string NodeType(const Node& node);

/// What a view does with an array.
struct ViewSummary {
  bool shown = false;
  std::string text;          // "chunks as they are, order C, named 0.0", "not shown: codec 'x' …"
  std::string reason;        // why not shown
  std::string example;       // path of the first chunk below the array
  std::string_view serving;  // "exact", "cut" or "transcoded"
  uint64_t cut_front = 0;
  uint64_t cut_back = 0;
  bool has_fill_chunks = false;  // chunks that are not stored have files
};
ViewSummary DescribeView(const Node& array, size_t view);

}  // namespace zarrfs::ctl

#endif  // TOOLS_ZARRCTL_DESCRIBE_H_
