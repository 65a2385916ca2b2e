// ElementReader: an array as one run of elements, in C order, assembled from its chunks.
//
// A range of elements is read from only the chunks that it touches, one chunk at a time, so memory
// beyond the cache holds just one, regardless of their number. A chunk that is not stored consists
// of fill values. Thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "zarrcore/array/chunk_source.h"
#include "zarrcore/base/result.h"
#include "zarrcore/content/chunk_reader.h"
#include "zarrcore/metadata/metadata.h"

namespace zarrfs {

/// Called with the location of a chunk of the array (nullopt if it is not stored), before it is
/// used; may refuse it.
using CheckChunk = std::function<Result<void>(InnerIndex chunk, const Located& found)>;

class ElementReader {
 public:
  /// `array`: with elements of a fixed size; `source` has its chunks. `texts`: with texts, as items
  /// of this TextType(). All must outlive this object. `reuse`: of the chunks; for kNever, chunks
  /// are decoded on several threads, and `check` is called on these.
  ElementReader(const ArrayMetadata& array, const ChunkSource& source, ChunkReader& chunks,
                Age max_age, CheckChunk check, const DataType* texts = nullptr,
                Reuse reuse = Reuse::kLikely);

  /// Fills `out` with whole elements, from number `first` on; as many must exist. Each is
  /// little-endian, as decoded by the codecs. The chunks are those of the store at most `max_age`
  /// ago. Fails like ChunkReader::Read() if one of these chunks cannot be read; kStale if a text is
  /// longer than an item.
  [[nodiscard]] Result<void> Read(uint64_t first, std::span<std::byte> out) const;

 private:
  // Elements that are contiguous in C order: [from, to) along each axis.
  struct Box {
    ChunkCoordinates from{};
    ChunkCoordinates to{};
  };

  Result<void> ReadRange(size_t axis, uint64_t first, uint64_t end, Box box,
                         std::span<std::byte> out) const;
  Result<void> ReadBox(const Box& box, std::span<std::byte> out) const;
  // Reads the part of the box in each of the chunks.
  Result<void> ReadAtOnce(const Box& chunks, const Box& box, std::span<std::byte> out) const;
  Result<void> ReadChunk(const ChunkCoordinates& chunk, const Box& box,
                         std::span<std::byte> out) const;
  // Null for a chunk that is not stored.
  Result<std::shared_ptr<const Bytes>> ElementsOf(InnerIndex chunk) const;

  const ArrayMetadata& array_;
  const ChunkSource& source_;
  ChunkReader& chunks_;
  const Age max_age_;
  const CheckChunk check_;
  const DataType* const texts_;
  const Reuse reuse_;
  const size_t item_size_;
  Bytes fill_;                  // one element; empty if it is a text longer than an item
  ChunkCoordinates strides_{};  // elements, along each axis of the array
};

}  // namespace zarrfs
