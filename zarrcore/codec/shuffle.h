// "shuffle", "numcodecs.shuffle": the first bytes of all elements, then the second ones, and so on.
//
// "elementsize" is required: readers disagree on the default (4, or the size of the data type). 0
// and 1 change nothing. A length that is no multiple of it is kDamaged.
#ifndef ZARRCORE_CODEC_SHUFFLE_H_
#define ZARRCORE_CODEC_SHUFFLE_H_

#include <memory>

#include "zarrcore/base/result.h"
#include "zarrcore/codec/codec.h"

namespace zarrfs {

[[nodiscard]] Result<std::shared_ptr<const BytesToBytesCodec>> MakeShuffleCodec(
    const CodecSpec& codec);

}  // namespace zarrfs

#endif  // ZARRCORE_CODEC_SHUFFLE_H_
