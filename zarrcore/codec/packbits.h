// Elements packed into bits, in two formats that share nothing but a name.
//
// "packbits" (zarr-extensions, array -> bytes): the bits "first_bit" to "last_bit" of each element,
// least significant first, padded with zero bits; "padding_encoding" first_byte or last_byte adds a
// byte with the number of padding bits. Missing bits are zero, or the sign of a signed integer.
//
// "numcodecs.packbits" (array -> array of uint8): a byte with the number of padding bits, then
// booleans, eight a byte, the first in the most significant bit.
#ifndef ZARRCORE_CODEC_PACKBITS_H_
#define ZARRCORE_CODEC_PACKBITS_H_

#include <memory>

#include "zarrcore/base/result.h"
#include "zarrcore/codec/codec.h"

namespace zarrfs {

/// kUnsupported for raw and extension types.
[[nodiscard]] Result<std::shared_ptr<const ArrayToBytesCodec>> MakePackbitsCodec(
    const CodecSpec& codec, const ChunkSpec& chunk);

/// kUnsupported for other types than bool.
[[nodiscard]] Result<std::shared_ptr<const ArrayToArrayCodec>> MakeNumcodecsPackbitsCodec(
    const CodecSpec& codec, const ChunkSpec& chunk);

}  // namespace zarrfs

#endif  // ZARRCORE_CODEC_PACKBITS_H_
