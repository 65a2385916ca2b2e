// "vlen-utf8", "vlen-bytes": elements that have each a length of their own, as numcodecs' VLenUTF8
// and VLenBytes write them: the number of elements, then each one's length and bytes. Counts and
// lengths are little-endian uint32.
//
// Such chunks are never decoded to elements here, only checked.
#ifndef ZARRCORE_CODEC_VLEN_H_
#define ZARRCORE_CODEC_VLEN_H_

#include <cstdint>
#include <span>
#include <string_view>

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
  /// Whether `codecs` have one of these codecs.
  [[nodiscard]] static bool IsOne(std::span<const CodecSpec> codecs);

  /// kUnsupported, naming it, for a codec that is not known or does not belong to the data type;
  /// kDamaged for a wrong configuration.
  [[nodiscard]] static Result<VlenChain> Make(std::span<const CodecSpec> codecs,
                                              const ChunkSpec& chunk);

  /// Undoes the compressors and checks what they give. kDamaged, also for a chunk that decodes to
  /// more than kMaxChunkBytes; kTooLarge where memory ends.
  [[nodiscard]] Result<void> Check(Bytes encoded) const;

 private:
  uint64_t count_ = 0;  // elements of a chunk
  VlenItems items_ = VlenItems::kText;
  BytesPipeline compressors_;
};

}  // namespace zarrfs

#endif  // ZARRCORE_CODEC_VLEN_H_
