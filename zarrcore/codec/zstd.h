// "zstd": RFC 8878.
//
// Decodes any number of frames and skippable frames. Encodes one frame with its content size, which
// older readers require. Frames in formats before RFC 8878 and frames that need a dictionary are
// kDamaged.
#ifndef ZARRCORE_CODEC_ZSTD_H_
#define ZARRCORE_CODEC_ZSTD_H_

#include <memory>

#include "zarrcore/base/result.h"
#include "zarrcore/codec/codec.h"

namespace zarrfs {

[[nodiscard]] Result<std::shared_ptr<const BytesToBytesCodec>> MakeZstdCodec(
    const CodecSpec& codec);

}  // namespace zarrfs

#endif  // ZARRCORE_CODEC_ZSTD_H_
