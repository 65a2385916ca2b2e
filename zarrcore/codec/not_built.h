// Known codecs that this program cannot decode: kUnsupported, with the library that it would need.
#ifndef ZARRCORE_CODEC_NOT_BUILT_H_
#define ZARRCORE_CODEC_NOT_BUILT_H_

#include <memory>

#include "zarrcore/base/result.h"
#include "zarrcore/codec/codec.h"

namespace zarrfs {

/// "pcodec", "numcodecs.pcodec".
[[nodiscard]] Result<std::shared_ptr<const ArrayToBytesCodec>> RefusePcodec(const CodecSpec& codec,
                                                                            const ChunkSpec& chunk);

}  // namespace zarrfs

#endif  // ZARRCORE_CODEC_NOT_BUILT_H_
