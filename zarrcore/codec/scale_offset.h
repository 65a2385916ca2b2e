// "scale_offset" of zarr-extensions and "numcodecs.fixedscaleoffset": stored / scale + offset.
//
// The first calculates in the array's data type (integers: wrapping, and the quotient rounded
// down). The second reads elements of "astype", calculates in float64, or in "astype" where that is
// a float, and converts to "dtype" as numpy does. Encoding is kUnsupported.
#ifndef ZARRCORE_CODEC_SCALE_OFFSET_H_
#define ZARRCORE_CODEC_SCALE_OFFSET_H_

#include <memory>

#include "zarrcore/base/result.h"
#include "zarrcore/codec/codec.h"

namespace zarrfs {

[[nodiscard]] Result<std::shared_ptr<const ArrayToArrayCodec>> MakeScaleOffsetCodec(
    const CodecSpec& codec, const ChunkSpec& chunk);

[[nodiscard]] Result<std::shared_ptr<const ArrayToArrayCodec>> MakeFixedScaleOffsetCodec(
    const CodecSpec& codec, const ChunkSpec& chunk);

}  // namespace zarrfs

#endif  // ZARRCORE_CODEC_SCALE_OFFSET_H_
