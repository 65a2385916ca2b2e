// Codecs that store an array as another data type: "numcodecs.astype", "numcodecs.quantize" (floats
// rounded to decimal digits, which decoding cannot undo) and "cast_value" of zarr-extensions.
//
// The first two convert as numpy does, "cast_value" by its "rounding" and "out_of_range"; its
// "scalar_map" is kUnsupported. So is encoding of "numcodecs.quantize".
#ifndef ZARRCORE_CODEC_CAST_H_
#define ZARRCORE_CODEC_CAST_H_

#include <memory>

#include "zarrcore/base/result.h"
#include "zarrcore/codec/codec.h"

namespace zarrfs {

[[nodiscard]] Result<std::shared_ptr<const ArrayToArrayCodec>> MakeAstypeCodec(
    const CodecSpec& codec, const ChunkSpec& chunk);

[[nodiscard]] Result<std::shared_ptr<const ArrayToArrayCodec>> MakeQuantizeCodec(
    const CodecSpec& codec, const ChunkSpec& chunk);

[[nodiscard]] Result<std::shared_ptr<const ArrayToArrayCodec>> MakeCastValueCodec(
    const CodecSpec& codec, const ChunkSpec& chunk);

}  // namespace zarrfs

#endif  // ZARRCORE_CODEC_CAST_H_
