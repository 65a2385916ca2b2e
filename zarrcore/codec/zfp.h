// zfp streams (https://zfp.readthedocs.io).
//
// "numcodecs.zfpy" begins with zfp's full header, which states the type, the shape and the mode;
// the configuration is for writers. "zfp" (zarr-extensions, codecs/zfp) has no header: the mode is
// the configuration's, type and shape are the chunk's.
#ifndef ZARRCORE_CODEC_ZFP_H_
#define ZARRCORE_CODEC_ZFP_H_

#include <memory>

#include "zarrcore/base/result.h"
#include "zarrcore/codec/codec.h"

namespace zarrfs {

/// kUnsupported for other types than int32, int64, float32 and float64, which zfp has. Is only
/// decoded.
[[nodiscard]] Result<std::shared_ptr<const ArrayToBytesCodec>> MakeZfpyCodec(
    const CodecSpec& codec, const ChunkSpec& chunk);

/// The same types, dates and durations, and integers of 8 and 16 bits, which are the upper ones of
/// zfp's 32. kUnsupported
/// beyond four axes. kDamaged if a mode is not known, or its numbers are wrong.
[[nodiscard]] Result<std::shared_ptr<const ArrayToBytesCodec>> MakeZfpCodec(const CodecSpec& codec,
                                                                            const ChunkSpec& chunk);

}  // namespace zarrfs

#endif  // ZARRCORE_CODEC_ZFP_H_
