// "blosc": the frame of c-blosc 1: a 16-byte header, block offsets, compressed blocks.
//
// The header of a frame says how to decode it; the configuration is only used to encode. Bytes
// after the frame are ignored, as every reader does.
//
// c-blosc trusts parts of its header, so all of it is checked before the library sees the frame.
#ifndef ZARRCORE_CODEC_BLOSC_H_
#define ZARRCORE_CODEC_BLOSC_H_

#include <memory>

#include "zarrcore/base/result.h"
#include "zarrcore/codec/codec.h"

namespace zarrfs {

[[nodiscard]] Result<std::shared_ptr<const BytesToBytesCodec>> MakeBloscCodec(
    const CodecSpec& codec);

}  // namespace zarrfs

#endif  // ZARRCORE_CODEC_BLOSC_H_
