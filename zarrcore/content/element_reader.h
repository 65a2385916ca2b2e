// ElementReader: an array as one run of elements, in C order, assembled from its chunks.
//
// Any range of elements is read from the chunks that it touches and no others, one chunk at a time:
// so however many there are, only one is held beside what the cache keeps. A chunk that is not
// stored is fill values. Thread-safe.
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

/// Called with where a chunk of the array was found, or that it is not stored, before it is used;
/// may refuse it.
using CheckChunk = std::function<Result<void>(InnerIndex chunk, const Located& found)>;

class ElementReader {
 public:
  /// `array`: of elements of a fixed size; `source` has its chunks. `texts`: of texts, as items of
  /// this TextType(). All outlive this. `reuse`: of the chunks; for kNever, chunks are decoded on
  /// several threads, and `check` is called on these.
  ElementReader(const ArrayMetadata& array, const ChunkSource& source, ChunkReader& chunks,
                Age max_age, CheckChunk check, const DataType* texts = nullptr,
                Reuse reuse = Reuse::kLikely);

  /// Fills `out` with whole elements, from number `first` on; there must be as many. Each is
  /// little-endian, as the codecs decode it. The chunks are those of the store at most `max_age`
  /// ago. Fails as ChunkReader::Read() does if one of these chunks cannot be read; kStale if a text
  /// is longer than an item.
  [[nodiscard]] Result<void> Read(uint64_t first, std::span<std::byte> out) const;

 private:
  // Elements that lie one after the other in C order: of each axis [from, to).
  struct Box {
    ChunkCoordinates from{};
    ChunkCoordinates to{};
  };

  Result<void> ReadRange(size_t axis, uint64_t first, uint64_t end, Box box,
                         std::span<std::byte> out) const;
  Result<void> ReadBox(const Box& box, std::span<std::byte> out) const;
  // The part of the box in each of the chunks.
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
  Bytes fill_;                  // an element; none if it is a text longer than an item
  ChunkCoordinates strides_{};  // elements, along each axis of the array
};

}  // namespace zarrfs
