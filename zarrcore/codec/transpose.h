// "transpose": the axes of the chunk in another order.
//
// Axis j of the encoded chunk is axis order[j] of the decoded one. TransposeOrder (codec.h) reads
// the order out of a configuration.
#ifndef ZARRCORE_CODEC_TRANSPOSE_H_
#define ZARRCORE_CODEC_TRANSPOSE_H_

#include <memory>

#include "zarrcore/base/result.h"
#include "zarrcore/codec/codec.h"

namespace zarrfs {

/// kDamaged if "order" is no permutation of the axes of the chunk.
[[nodiscard]] Result<std::shared_ptr<const ArrayToArrayCodec>> MakeTransposeCodec(
    const CodecSpec& codec, const ChunkSpec& chunk);

}  // namespace zarrfs

#endif  // ZARRCORE_CODEC_TRANSPOSE_H_
