// Decides how to serve a zstd chunk to readers that do not support all of RFC 8878.
//
// numcodecs before 0.16.2, which zarr-python 2 and 3.0 use, refuses a chunk whose first frame lacks
// its content size or is skippable, and a chunk of several frames with content. Most of these
// chunks are one frame without the content size, and the size is simply added to the header.
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
    kPass,    // the chunk unchanged
    kPatch,   // the header from PatchZstdHeader(), then everything from `replaced` on
    kRecode,  // the chunk decoded and encoded again; decoding may still find damage
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
/// `decoded_size` is nullopt for data types of variable length. Decodes nothing: reads the first 18
/// bytes and, unless they contain the content size, the three-byte headers of the blocks, which are
/// at most 128 KiB apart. kDamaged if the chunk cannot decode to `decoded_size` bytes. Otherwise,
/// fails like `read`.
[[nodiscard]] Result<ZstdServing> ServeZstd(uint64_t size, std::optional<uint64_t> decoded_size,
                                            const ReadChunkBytes& read);

/// An upper bound for the decoded size of a chunk, at most `limit` bytes. Reads only the headers of
/// frames and blocks. kDamaged if a frame is invalid, or if the frames state more than `limit`
/// bytes in total.
[[nodiscard]] Result<uint64_t> ZstdDecodedBound(BytesView encoded, uint64_t limit);

/// Appends the content size `decoded_size` to a frame header of ZstdServing::replaced bytes. Keeps
/// the window size, which may exceed the content size.
[[nodiscard]] Bytes PatchZstdHeader(Bytes header, uint64_t decoded_size);

}  // namespace zarrfs
