// "bytes": the elements one after the other in C order, of a stated byte order.
//
// A complex element is two floats that are swapped one by one, a struct is swapped field by field;
// opaque bytes (r<N>) have no order.
// A missing "endian" means nothing for items of one byte; for wider ones, which only old writers
// leave so, it is read as little.
#ifndef ZARRCORE_CODEC_BYTES_H_
#define ZARRCORE_CODEC_BYTES_H_

#include <memory>

#include "zarrcore/base/result.h"
#include "zarrcore/codec/codec.h"

namespace zarrfs {

/// kUnsupported, naming the data type, where elements have no known size.
[[nodiscard]] Result<std::shared_ptr<const ArrayToBytesCodec>> MakeBytesCodec(
    const CodecSpec& codec, const ChunkSpec& chunk);

}  // namespace zarrfs

#endif  // ZARRCORE_CODEC_BYTES_H_
