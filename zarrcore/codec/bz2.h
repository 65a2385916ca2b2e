// "bz2", "numcodecs.bz2": what bzip2(1) writes.
//
// Several streams in a row decode to their concatenation; other bytes after a stream are ignored,
// as in every reader. A missing end or a wrong checksum is kDamaged.
#ifndef ZARRCORE_CODEC_BZ2_H_
#define ZARRCORE_CODEC_BZ2_H_

#include <memory>

#include "zarrcore/base/result.h"
#include "zarrcore/codec/codec.h"

namespace zarrfs {

[[nodiscard]] Result<std::shared_ptr<const BytesToBytesCodec>> MakeBz2Codec(const CodecSpec& codec);

}  // namespace zarrfs

#endif  // ZARRCORE_CODEC_BZ2_H_
