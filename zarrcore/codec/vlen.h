// "vlen-utf8", "vlen-bytes": elements of variable length, as numcodecs' VLenUTF8 and VLenBytes
// write them: the number of elements, then each one's length and bytes. Counts and lengths are
// little-endian uint32.
//
// Such chunks are only checked here, never decoded to elements.
#pragma once

#include <cstdint>
#include <span>

#include "zarrcore/base/result.h"
#include "zarrcore/codec/codec.h"
#include "zarrcore/metadata/metadata.h"

namespace zarrfs {

enum class VlenItems { kText, kBytes };

/// kDamaged unless `encoded` holds exactly `count` elements and nothing after them; text must be
/// UTF-8. Allocates nothing.
[[nodiscard]] Result<void> CheckVlen(BytesView encoded, uint64_t count, VlenItems items);

/// A chain whose array -> bytes codec is one of these.
class VlenChain {
 public:
  /// Whether `codecs` contain one of these.
  [[nodiscard]] static bool IsOne(std::span<const CodecSpec> codecs);

  /// kUnsupported for a codec that is not known or does not fit the data type; kDamaged for a wrong
  /// configuration.
  [[nodiscard]] static Result<VlenChain> Make(std::span<const CodecSpec> codecs,
                                              const ChunkSpec& chunk);

  /// Decompresses and checks the chunk. kDamaged, also for a chunk that decodes to more than
  /// kMaxChunkBytes; kTooLarge if memory runs out.
  [[nodiscard]] Result<void> Check(Bytes encoded) const;

 private:
  uint64_t count_ = 0;  // elements of a chunk
  VlenItems items_ = VlenItems::kText;
  BytesPipeline compressors_;
};

}  // namespace zarrfs
