// "numcodecs.zfpy": a zfp stream with its full header (https://zfp.readthedocs.io, "Header"), which
// states the type and the shape of what it holds; the mode in the configuration is for writers.
#ifndef ZARRCORE_CODEC_ZFPY_H_
#define ZARRCORE_CODEC_ZFPY_H_

#include <memory>

#include "zarrcore/base/result.h"
#include "zarrcore/codec/codec.h"

namespace zarrfs {

/// kUnsupported for other types than int32, int64, float32 and float64, which zfp has. Is only
/// decoded.
[[nodiscard]] Result<std::shared_ptr<const ArrayToBytesCodec>> MakeZfpyCodec(
    const CodecSpec& codec, const ChunkSpec& chunk);

}  // namespace zarrfs

#endif  // ZARRCORE_CODEC_ZFPY_H_
