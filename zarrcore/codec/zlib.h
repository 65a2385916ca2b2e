// "zlib", "numcodecs.zlib": one stream of RFC 1950. Bytes after it are ignored, as in every reader.
#ifndef ZARRCORE_CODEC_ZLIB_H_
#define ZARRCORE_CODEC_ZLIB_H_

#include <memory>

#include "zarrcore/base/result.h"
#include "zarrcore/codec/codec.h"

namespace zarrfs {

[[nodiscard]] Result<std::shared_ptr<const BytesToBytesCodec>> MakeZlibCodec(
    const CodecSpec& codec);

}  // namespace zarrfs

#endif  // ZARRCORE_CODEC_ZLIB_H_
