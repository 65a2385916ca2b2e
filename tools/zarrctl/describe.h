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

/// A codec chain in words: "transpose(1, 0), bytes(little), zstd(3)".
std::string DescribeCodecs(const std::vector<CodecSpec>& codecs);

/// A shape in words: "[4, 6, 8]".
std::string DescribeShape(std::span<const uint64_t> shape);

/// Returns the shape of the stored objects in words: "[4, 6]", or "up to [4, 6]" if they differ.
std::string DescribeOuterShape(const ArrayMetadata& metadata);

/// Returns the coordinates of the chunk with number `chunk` in `grid`.
std::vector<uint64_t> CoordinatesOf(uint64_t chunk, const ChunkGrid& grid);

/// Returns the name of the chunk with number `chunk` in `grid`, such as "0.3.1".
std::string ChunkName(uint64_t chunk, const ChunkGrid& grid);

/// Returns the fill value in the spelling of the current v3 specification. Fill values of extension
/// types are spelled as in the metadata.
Json FillValueJson(const ArrayMetadata& metadata);

/// Returns "group", "array", or "unusable" if the documents of the node cannot be used.
std::string NodeType(const Node& node);

/// How a view shows an array.
struct ViewSummary {
  const ArrayView* shown = nullptr;  // null if the view does not show the array
  // A description such as "chunks as they are, order C, named 0.0", or "not shown: codec 'x' …".
  std::string text;
  std::string reason;   // the reason why the array is not shown
  std::string example;  // the path of the first chunk, relative to the array
  // How the view serves the chunks: "exact", "cut", "transcoded", or, if the array has no chunk
  // files, "assembled".
  std::string_view serving;

  /// True if the view shows missing chunks as files.
  [[nodiscard]] bool has_fill_chunks() const { return shown != nullptr && shown->fill_chunk; }
};
/// Describes how a view shows `array`, which must outlive the result. Scans variable-length strings
/// if the description depends on them (NodeView::has_texts).
ViewSummary DescribeView(const Hierarchy& hierarchy, const Node& array, size_t view);

/// The sorted names of the nodes of a group.
using Names = std::vector<std::string>;

/// Returns the name of the file that a view makes from a node; "" if the view makes no file, or the
/// name cannot be determined now. `siblings`: the names of all nodes in the node's group.
std::string FileOfNode(const Hierarchy& hierarchy, const Node& node, size_t view,
                       const Names& siblings);

/// Describes how a mount verifies the checksums that a view omits from chunk files, for example
/// "checked" or "checked in chunks of up to 4 MiB"; "" if the view omits none.
std::string WhatIsChecked(const ChunkEncoding& encoding);
/// Describes how a mount verifies the checksums of whole shards, which every view omits; "" if the
/// shards have none.
std::string WhatIsCheckedOfShards(const ArrayLayout& layout);

/// A chunk file of a mount: its size, and how the view makes it from the stored chunk.
struct ViewFile {
  std::string_view view;               // the name of the view
  std::optional<uint64_t> size;        // in bytes; nullopt if the file does not exist
  std::optional<std::string> failure;  // why the mount could not be queried
  /// How the view makes the file: "exact", "cut", "patched", "recompressed", "transcoded" or
  /// "fill"; "" if the file does not exist.
  std::string_view serving;
  std::string text;  // a description of `serving`
};

/// Describes the chunk file that the user named by a path below a mount. The path also determines
/// the view. `location`: nullopt if the chunk is not stored.
[[nodiscard]] Result<ViewFile> DescribeViewFile(const TargetChunk& chunk,
                                                const std::optional<ChunkLocation>& location);

}  // namespace zarrfs::ctl
