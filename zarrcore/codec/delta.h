// "numcodecs.delta": the first element, then the differences between neighbours in C order.
//
// "dtype" is the type of the array, "astype" (by default the same) the stored one. As in numpy,
// sums are computed in a type that holds both, and integers wrap. Integers and floats; kUnsupported
// for others.
#ifndef ZARRCORE_CODEC_DELTA_H_
#define ZARRCORE_CODEC_DELTA_H_

#include <memory>

#include "zarrcore/base/result.h"
#include "zarrcore/codec/codec.h"

namespace zarrfs {

[[nodiscard]] Result<std::shared_ptr<const ArrayToArrayCodec>> MakeDeltaCodec(
    const CodecSpec& codec, const ChunkSpec& chunk);

}  // namespace zarrfs

#endif  // ZARRCORE_CODEC_DELTA_H_
