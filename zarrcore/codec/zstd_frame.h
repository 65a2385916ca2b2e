// Decides how to serve a zstd chunk to readers that do not support all of RFC 8878.
//
// numcodecs before 0.16.2, which zarr-python 2 and 3.0 use, refuses chunks whose first frame is
// skippable or lacks its content size, and chunks with several frames that have content. Most of
// the refused chunks are a single frame without the content size. Such a chunk is served with the
// size added to the frame header.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "zarrcore/base/result.h"
#include "zarrcore/codec/codec.h"

namespace zarrfs {

struct ZstdServing {
  enum class Kind {
    kPass,    // serve the chunk unchanged
    kPatch,   // serve the header from PatchZstdHeader(), then the chunk's bytes from `replaced` on
    kRecode,  // decode the chunk and encode it again; decoding may still find damage
  };
  Kind kind = Kind::kPass;
  uint64_t replaced = 0;  // for kPatch: the number of bytes of the original header

  /// Size of the patched header in bytes; 0 if the header is not patched.
  [[nodiscard]] uint64_t patched_size() const {
    return kind == Kind::kPatch ? replaced + sizeof(uint32_t) : 0;
  }
};

/// Fills `to` with the bytes of the chunk from `offset` on. Never called for bytes past the end of
/// the chunk.
using ReadChunkBytes = std::function<Result<void>(uint64_t offset, std::span<std::byte> to)>;

/// Decides how to serve a chunk of `size` bytes that should decode to `decoded_size` bytes.
/// `decoded_size` is nullopt for data types of variable length. Decodes nothing. Reads the first 18
/// bytes. If these lack the content size, also reads the three-byte block headers, which are at
/// most 128 KiB apart. Fails with kDamaged if the chunk cannot decode to `decoded_size` bytes, and
/// with the errors of `read`.
[[nodiscard]] Result<ZstdServing> ServeZstd(uint64_t size, std::optional<uint64_t> decoded_size,
                                            const ReadChunkBytes& read);

/// Returns an upper bound for the decoded size of a chunk, at most `limit` bytes. Reads only the
/// headers of frames and blocks. Fails with kDamaged if a frame is invalid, or if the frames state
/// more than `limit` bytes in total.
[[nodiscard]] Result<uint64_t> ZstdDecodedBound(BytesView encoded, uint64_t limit);

/// Appends the content size `decoded_size` to `header`, the first ZstdServing::replaced bytes of a
/// chunk, and returns it. Keeps the window size, which may exceed the content size.
[[nodiscard]] Bytes PatchZstdHeader(Bytes header, uint64_t decoded_size);

}  // namespace zarrfs
