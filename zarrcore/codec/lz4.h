// "lz4", "numcodecs.lz4": the decoded size, four bytes, little-endian, and one LZ4 block. Not the
// frame format of lz4(1).
#ifndef ZARRCORE_CODEC_LZ4_H_
#define ZARRCORE_CODEC_LZ4_H_

#include <memory>

#include "zarrcore/base/result.h"
#include "zarrcore/codec/codec.h"

namespace zarrfs {

[[nodiscard]] Result<std::shared_ptr<const BytesToBytesCodec>> MakeLz4Codec(const CodecSpec& codec);

}  // namespace zarrfs

#endif  // ZARRCORE_CODEC_LZ4_H_
