// How to serve a zstd chunk to readers that do not support all of RFC 8878.
//
// numcodecs before 0.16.2 (in zarr-python 2 and 3.0) refuses a chunk whose first frame lacks its
// content size or is skippable, and a chunk of several frames with content. Most such chunks are
// one frame without the size: writing the size into the header is enough.
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
    kPass,    // unchanged
    kPatch,   // the header from PatchZstdHeader(), then everything from `replaced` on
    kRecode,  // decode and encode again; decoding may still find damage
  };
  Kind kind = Kind::kPass;
  uint64_t replaced = 0;  // for kPatch: bytes of the header

  /// Size of the patched header in bytes.
  [[nodiscard]] uint64_t patched_size() const {
    return kind == Kind::kPatch ? replaced + sizeof(uint32_t) : 0;
  }
};

/// Fills `to` with the bytes at `offset` of the chunk. Never called for bytes past its end.
using ReadChunkBytes = std::function<Result<void>(uint64_t offset, std::span<std::byte> to)>;

/// How to serve a chunk of `size` bytes that should decode to `decoded_size` bytes (nullopt for
/// data types of variable length). Decodes nothing: reads the first 18 bytes and, unless they have
/// the content size, the three bytes before each block (at most 128 KiB apart). kDamaged if the
/// chunk cannot decode to `decoded_size` bytes; else the errors of `read`.
[[nodiscard]] Result<ZstdServing> ServeZstd(uint64_t size, std::optional<uint64_t> decoded_size,
                                            const ReadChunkBytes& read);

/// An upper bound for the decoded size of a chunk, at most `limit`: walks the headers of frames and
/// blocks, and decodes nothing. kDamaged if the frames are incomplete, or state more than `limit`
/// bytes.
[[nodiscard]] Result<uint64_t> ZstdDecodedBound(BytesView encoded, uint64_t limit);

/// The header of a frame (ZstdServing::replaced bytes) with the content size added as its last
/// member. The window may stay larger than that.
[[nodiscard]] Bytes PatchZstdHeader(Bytes header, uint64_t decoded_size);

}  // namespace zarrfs
