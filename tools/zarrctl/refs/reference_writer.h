// The destination of references: files of kerchunk (https://fsspec.github.io/kerchunk/spec.html),
// which fsspec's reference file system opens.
//
// Calls come in this order:
//
//   for each group, before what lies below it:
//     AddDocument…
//   for each array:
//     BeginArray, AddChunk…, AddDocument…, then EndArray,
//     or DropArray if it cannot be expressed after all
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

/// The bytes of one key: a range of a file of the store, or given here.
struct Reference {
  std::string_view url;
  uint64_t offset = 0;
  uint64_t length = 0;
  const std::string* bytes = nullptr;  // instead of the rest, unless it is null
};

/// An array whose references follow. Outlives them.
struct ReferencedArray {
  std::string_view path;  // from the group that is referred to on; "" is that itself
  const ChunkGrid& grid;
  const ChunkNaming& naming;
};

class ReferenceWriter {
 public:
  virtual ~ReferenceWriter() = default;
  /// Whether chunks must come in row-major order.
  [[nodiscard]] virtual bool needs_order() const = 0;
  /// Why the array cannot be expressed; "" if it can.
  [[nodiscard]] virtual std::string WhyNot(const ReferencedArray& array) const = 0;

  /// A document of a node ("a/.zarray"), or of the whole (".zmetadata").
  [[nodiscard]] virtual Result<void> AddDocument(std::string_view key, std::string_view text) = 0;
  /// Any other file ("OME/METADATA.ome.xml"). False if such files cannot be expressed.
  [[nodiscard]] virtual Result<bool> AddFile(std::string_view key, const Reference& reference) = 0;
  [[nodiscard]] virtual Result<void> BeginArray(const ReferencedArray& array) = 0;
  [[nodiscard]] virtual Result<void> AddChunk(InnerIndex chunk, const Reference& reference) = 0;
  [[nodiscard]] virtual Result<void> EndArray() = 0;
  /// Undoes everything since BeginArray().
  [[nodiscard]] virtual Result<void> DropArray() = 0;
  /// Without it, the references cannot be opened.
  [[nodiscard]] virtual Result<void> Finish() = 0;
};

/// One JSON document, version 1. Memory does not grow with the number of references.
[[nodiscard]] Result<std::unique_ptr<ReferenceWriter>> OpenJsonReferences(const std::string& file);

/// A folder of tables of 10,000 references each, which readers load on demand. `folder` exists and
/// is empty. Documents are held until Finish().
[[nodiscard]] Result<std::unique_ptr<ReferenceWriter>> OpenParquetReferences(
    const std::string& folder);

}  // namespace zarrfs::ctl
