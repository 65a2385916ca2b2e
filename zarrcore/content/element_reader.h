// ElementReader: reads ranges of an array's elements in C order, assembled from the array's chunks.
// Thread-safe.
//
// A read uses only the chunks that overlap its range. Chunks are decoded one at a time, so a read
// needs memory for one decoded chunk in addition to the cache. With Reuse::kNever, it needs memory
// for one decoded chunk per thread. A chunk that is not stored consists of fill values.
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

/// Called with the location of a chunk before the chunk is used. The location is nullopt if the
/// chunk is not stored. If the call fails, the chunk is not used and the read fails.
using CheckChunk = std::function<Result<void>(InnerIndex chunk, const Located& found)>;

class ElementReader {
 public:
  /// `array` must have elements of a fixed size, or strings. `source` locates the array's chunks.
  /// `texts`: for strings, the TextType() of the items to return. All arguments must outlive this
  /// object. `reuse`: whether chunks are cached. With kNever, chunks are decoded on several
  /// threads, and `check` is called on these threads.
  ElementReader(const ArrayMetadata& array, const ChunkSource& source, ChunkReader& chunks,
                Age max_age, CheckChunk check, const DataType* texts = nullptr,
                Reuse reuse = Reuse::kLikely);

  /// Fills `out` with whole elements, starting with element `first` of the array. All these
  /// elements must exist. Elements are little-endian, as decoded by the codecs. The locations of
  /// chunks are at most `max_age` old. Returns the errors of ChunkReader::Read(), and kStale if a
  /// string does not fit in an item.
  [[nodiscard]] Result<void> Read(uint64_t first, std::span<std::byte> out) const;

 private:
  // A part of the array whose elements are contiguous in C order: [from, to) along each axis.
  struct Box {
    ChunkCoordinates from{};
    ChunkCoordinates to{};
  };

  Result<void> ReadRange(size_t axis, uint64_t first, uint64_t end, Box box,
                         std::span<std::byte> out) const;
  Result<void> ReadBox(const Box& box, std::span<std::byte> out) const;
  // Reads the elements of `box`, which the chunks at the coordinates in `chunks` contain, on
  // several threads.
  Result<void> ReadAtOnce(const Box& chunks, const Box& box, std::span<std::byte> out) const;
  Result<void> ReadChunk(const ChunkCoordinates& chunk, const Box& box,
                         std::span<std::byte> out) const;
  // Returns the decoded elements of a chunk, or null if the chunk is not stored.
  Result<std::shared_ptr<const Bytes>> ElementsOf(InnerIndex chunk) const;

  const ArrayMetadata& array_;
  const ChunkSource& source_;
  ChunkReader& chunks_;
  const Age max_age_;
  const CheckChunk check_;
  const DataType* const texts_;
  const Reuse reuse_;
  const size_t item_size_;
  Bytes fill_;  // one fill value; empty if it is a string longer than an item
  // The number of elements from one index to the next, along each axis of the array.
  ChunkCoordinates strides_{};
};

}  // namespace zarrfs
