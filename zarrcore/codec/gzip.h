// "gzip": RFC 1952.
//
// Several members in a row decode to their concatenation, as in gzip(1). Anything else after a
// member, a missing end or a wrong checksum is kDamaged.
#ifndef ZARRCORE_CODEC_GZIP_H_
#define ZARRCORE_CODEC_GZIP_H_

#include <memory>

#include "zarrcore/base/result.h"
#include "zarrcore/codec/codec.h"

namespace zarrfs {

[[nodiscard]] Result<std::shared_ptr<const BytesToBytesCodec>> MakeGzipCodec(
    const CodecSpec& codec);

}  // namespace zarrfs

#endif  // ZARRCORE_CODEC_GZIP_H_
