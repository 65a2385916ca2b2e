// Short descriptions of arrays, codecs, views and their files.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tools/zarrctl/target.h"
#include "zarrcore/array/chunk_source.h"
#include "zarrcore/base/result.h"
#include "zarrcore/hierarchy/hierarchy.h"
#include "zarrcore/metadata/metadata.h"

namespace zarrfs::ctl {

/// "transpose(1, 0), bytes(little), zstd(3)".
std::string DescribeCodecs(const std::vector<CodecSpec>& codecs);

/// "[4, 6, 8]".
std::string DescribeShape(std::span<const uint64_t> shape);

/// Shape of the stored objects: "[4, 6]", or "up to [4, 6]" if they differ.
std::string DescribeOuterShape(const ArrayMetadata& metadata);

/// Coordinates of a chunk, by its number in the grid.
std::vector<uint64_t> CoordinatesOf(uint64_t chunk, const ChunkGrid& grid);

/// "0.3.1", for a chunk by its number in the grid.
std::string ChunkName(uint64_t chunk, const ChunkGrid& grid);

/// In today's v3 spelling; for extension types as in the metadata.
Json FillValueJson(const ArrayMetadata& metadata);

/// "group", "array", or "unusable" if the zarr.json cannot be used.
std::string NodeType(const Node& node);

/// How a view shows an array.
struct ViewSummary {
  const ArrayView* shown = nullptr;  // null: not shown
  std::string text;          // "chunks as they are, order C, named 0.0", "not shown: codec 'x' …"
  std::string reason;        // why not shown
  std::string example;       // path of the first chunk below the array
  std::string_view serving;  // "exact", "cut", "transcoded", or "assembled": there are no chunks

  /// Whether missing chunks have files.
  [[nodiscard]] bool has_fill_chunks() const { return shown != nullptr && shown->fill_chunk; }
};
/// `array` must outlive the summary. Scans texts of variable length if that decides
/// (NodeView::has_texts).
ViewSummary DescribeView(const Hierarchy& hierarchy, const Node& array, size_t view);

/// Names of the nodes of a group, sorted.
using Names = std::vector<std::string>;

/// The name of the file that a view of files makes from a node; "" if it makes none, or that is
/// unknown now. `siblings`: all nodes in the node's group.
std::string FileOfNode(const Hierarchy& hierarchy, const Node& node, size_t view,
                       const Names& siblings);

/// Whether the mount verifies the checksums that the view omits: "checked", "checked in chunks of
/// up to 4 MiB"; "" if there are none.
std::string WhatIsChecked(const ChunkEncoding& encoding);
/// Likewise for checksums around whole shards, which every view omits.
std::string WhatIsCheckedOfShards(const ArrayLayout& layout);

/// A chunk file of a mount: its size, and how the view derives it from the stored chunk.
struct ViewFile {
  std::string_view view;               // its name
  std::optional<uint64_t> size;        // in bytes; nullopt: the file does not exist
  std::optional<std::string> failure;  // why the mount cannot be asked
  /// "exact", "cut", "patched", "recompressed", "transcoded" or "fill"; "" if there is no file.
  std::string_view serving;
  std::string text;  // the same in words
};

/// `chunk` was named by a path below a mount, so its view is known. `location`: nullopt if the
/// store does not hold it.
[[nodiscard]] Result<ViewFile> DescribeViewFile(const TargetChunk& chunk,
                                                const std::optional<ChunkLocation>& location);

}  // namespace zarrfs::ctl
