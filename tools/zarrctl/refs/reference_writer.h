// ReferenceWriter: writes references as kerchunk files
// (https://fsspec.github.io/kerchunk/spec.html), which fsspec's reference file system opens.
//
// Calls must come in this order:
//
//   for each group, before the nodes below it:
//     AddDocument…
//   for each array:
//     BeginArray, AddChunk…, AddDocument…, then EndArray,
//     or DropArray if it turns out that references cannot express the array
//   Finish
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "zarrcore/array/chunk_grid.h"
#include "zarrcore/array/chunk_naming.h"
#include "zarrcore/base/result.h"

namespace zarrfs::ctl {

/// What a reference points to: a range of a file of the store, or bytes that the reference itself
/// contains.
struct Reference {
  std::string_view url;
  uint64_t offset = 0;
  uint64_t length = 0;
  const std::string* bytes = nullptr;  // if not null, used instead of the other members
};

/// An array whose references are added next. Must exist until EndArray() or DropArray().
struct ReferencedArray {
  std::string_view path;  // relative to the group of the references; "" is the group itself
  const ChunkGrid& grid;
  const ChunkNaming& naming;
};

class ReferenceWriter {
 public:
  virtual ~ReferenceWriter() = default;
  /// True if the chunks of an array must be added in row-major order.
  [[nodiscard]] virtual bool needs_order() const = 0;
  /// Returns why references of this form cannot express the array; "" if they can.
  [[nodiscard]] virtual std::string WhyNot(const ReferencedArray& array) const = 0;

  /// Adds a metadata document of a node ("a/.zarray"), or of all nodes (".zmetadata").
  [[nodiscard]] virtual Result<void> AddDocument(std::string_view key, std::string_view text) = 0;
  /// Adds a file that is neither a document nor a chunk ("OME/METADATA.ome.xml"). Returns false if
  /// references of this form cannot express such files.
  [[nodiscard]] virtual Result<bool> AddFile(std::string_view key, const Reference& reference) = 0;
  [[nodiscard]] virtual Result<void> BeginArray(const ReferencedArray& array) = 0;
  [[nodiscard]] virtual Result<void> AddChunk(InnerIndex chunk, const Reference& reference) = 0;
  [[nodiscard]] virtual Result<void> EndArray() = 0;
  /// Undoes everything since BeginArray().
  [[nodiscard]] virtual Result<void> DropArray() = 0;
  /// Completes the references. Readers cannot open the references before this call.
  [[nodiscard]] virtual Result<void> Finish() = 0;
};

/// Writes one JSON document, version 1. Memory use does not grow with the number of references.
[[nodiscard]] Result<std::unique_ptr<ReferenceWriter>> OpenJsonReferences(const std::string& file);

/// Writes a folder of tables of 10,000 references each, which readers load on demand. `folder` must
/// exist and be empty. Documents are held in memory until Finish().
[[nodiscard]] Result<std::unique_ptr<ReferenceWriter>> OpenParquetReferences(
    const std::string& folder);

}  // namespace zarrfs::ctl
