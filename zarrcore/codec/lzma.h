// "lzma", "numcodecs.lzma": what Python's module lzma writes, in its four formats.
//
// The configuration is that module's: "format" 0 (xz or lzma, whichever it is), 1 (xz, the
// default), 2 (lzma, the format before xz) or 3 (raw: no header, so decoding needs "filters");
// "check" and "preset" are only used to encode. "filters" is a list of {"id": n, option: n, …}.
// Several xz streams decode to their concatenation; anything else after the end is kDamaged.
// Encodes xz only, with its default filters.
#ifndef ZARRCORE_CODEC_LZMA_H_
#define ZARRCORE_CODEC_LZMA_H_

#include <memory>

#include "zarrcore/base/result.h"
#include "zarrcore/codec/codec.h"

namespace zarrfs {

[[nodiscard]] Result<std::shared_ptr<const BytesToBytesCodec>> MakeLzmaCodec(
    const CodecSpec& codec);

}  // namespace zarrfs

#endif  // ZARRCORE_CODEC_LZMA_H_
