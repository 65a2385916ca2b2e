// How a zstd chunk can be served to readers that know less than RFC 8878 allows.
//
// numcodecs before 0.16.2 (of zarr-python 2 and 3.0) refuses a chunk whose first frame does not
// state its content size or is skippable, and one of several frames with content. Most such chunks
// are one frame without a size: they need no more than the size written into the header.
#ifndef ZARRCORE_CODEC_ZSTD_FRAME_H_
#define ZARRCORE_CODEC_ZSTD_FRAME_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "zarrcore/base/result.h"
#include "zarrcore/codec/codec.h"

namespace zarrfs {

struct ZstdServing {
  enum class Kind {
    kPass,    // as it is
    kPatch,   // `header`, then all from byte `replaced` on
    kRecode,  // decode it and encode it again; decoding may still find damage
  };
  Kind kind = Kind::kPass;
  Bytes header = {};      // of kPatch: four bytes longer than what it replaces
  uint64_t replaced = 0;  // of kPatch: bytes of the chunk
};

/// Reads exactly as many bytes as `to` has, at `offset` of the chunk. Never asked for more than the
/// chunk has.
using ReadChunkBytes = std::function<Result<void>(uint64_t offset, std::span<std::byte> to)>;

/// Of a chunk of `size` bytes that is to decode to `decoded_size` bytes; nothing for data types
/// whose elements have each a length of their own. Decodes nothing. Reads the first 18 bytes, and,
/// where these do not say the size, the three bytes before each block (which are at most 128 KiB
/// apart). kDamaged if no decoder could make `decoded_size` bytes of it; what `read` fails with.
[[nodiscard]] Result<ZstdServing> ServeZstd(uint64_t size, std::optional<uint64_t> decoded_size,
                                            const ReadChunkBytes& read);

}  // namespace zarrfs

#endif  // ZARRCORE_CODEC_ZSTD_FRAME_H_
