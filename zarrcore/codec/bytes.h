// "bytes": the elements one after the other in C order, in a given byte order.
//
// The two floats of a complex element are swapped separately, and so are the fields of a struct;
// opaque bytes (r<N>) have no byte order.
// A missing "endian" is fine for items of one byte; for wider ones, where only old writers omit it,
// it means little.
#ifndef ZARRCORE_CODEC_BYTES_H_
#define ZARRCORE_CODEC_BYTES_H_

#include <memory>

#include "zarrcore/base/result.h"
#include "zarrcore/codec/codec.h"

namespace zarrfs {

/// kUnsupported for data types without a fixed element size.
[[nodiscard]] Result<std::shared_ptr<const ArrayToBytesCodec>> MakeBytesCodec(
    const CodecSpec& codec, const ChunkSpec& chunk);

}  // namespace zarrfs

#endif  // ZARRCORE_CODEC_BYTES_H_
