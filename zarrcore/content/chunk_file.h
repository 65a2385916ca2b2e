// ChunkFile: a file in a view that shows one chunk, and the stored chunk from which it is made.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "zarrcore/array/chunk_source.h"
#include "zarrcore/base/result.h"
#include "zarrcore/content/chunk_encoding.h"
#include "zarrcore/content/stored_ranges.h"

namespace zarrfs {

/// A chunk file of a view: how its contents are encoded, and where its chunk is stored.
struct ChunkFile {
  const ChunkSource& source;
  const ChunkEncoding& encoding;
  uint32_t encoding_number;  // the number of `encoding` among the encodings of this array
  InnerIndex chunk;
  const ChunkLocation& location;
  // Cache of stored bytes, owned by the ChunkReader; null if the store is not slow.
  StoredRanges* ranges = nullptr;

  /// The number of bytes of the stored chunk that are checksums and left out of this file.
  [[nodiscard]] uint64_t cut() const { return encoding.cut_front + encoding.cut_back; }
};

/// Fills `out` with the stored bytes of the chunk, from `offset` on.
[[nodiscard]] Result<void> ReadChunk(const ChunkFile& file, uint64_t offset,
                                     std::span<std::byte> out);

/// Returns `error`, and reports it once per version of the stored object.
[[nodiscard]] tl::unexpected<Error> Damaged(const ChunkFile& file, const Error& error);

}  // namespace zarrfs
