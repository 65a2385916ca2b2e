// zfp streams (https://zfp.readthedocs.io).
//
// "numcodecs.zfpy" begins with zfp's full header, which has the type, the shape and the mode; the
// configuration is for writers. "zfp" (zarr-extensions, codecs/zfp) has no header: the mode comes
// from the configuration, type and shape from the chunk.
#ifndef ZARRCORE_CODEC_ZFP_H_
#define ZARRCORE_CODEC_ZFP_H_

#include <memory>

#include "zarrcore/base/result.h"
#include "zarrcore/codec/codec.h"

namespace zarrfs {

/// kUnsupported for other types than int32, int64, float32 and float64. Decodes only.
[[nodiscard]] Result<std::shared_ptr<const ArrayToBytesCodec>> MakeZfpyCodec(
    const CodecSpec& codec, const ChunkSpec& chunk);

/// The same types, dates and durations, and integers of 8 and 16 bits, stored in the upper bits of
/// zfp's 32. kUnsupported beyond four axes. kDamaged for an unknown mode or wrong parameters.
[[nodiscard]] Result<std::shared_ptr<const ArrayToBytesCodec>> MakeZfpCodec(const CodecSpec& codec,
                                                                            const ChunkSpec& chunk);

}  // namespace zarrfs

#endif  // ZARRCORE_CODEC_ZFP_H_
