// "bitround", "numcodecs.bitround": elements whose low bits were rounded away when they were
// written.
//
// Decoding changes nothing, whatever the configuration says. Encoding is kUnsupported.
#ifndef ZARRCORE_CODEC_BITROUND_H_
#define ZARRCORE_CODEC_BITROUND_H_

#include <memory>

#include "zarrcore/base/result.h"
#include "zarrcore/codec/codec.h"

namespace zarrfs {

[[nodiscard]] Result<std::shared_ptr<const ArrayToArrayCodec>> MakeBitroundCodec(
    const CodecSpec& codec, const ChunkSpec& chunk);

}  // namespace zarrfs

#endif  // ZARRCORE_CODEC_BITROUND_H_
