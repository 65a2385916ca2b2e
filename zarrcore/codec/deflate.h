// Deflate (RFC 1951) in the wrappers of "gzip" (RFC 1952) and "zlib" (RFC 1950).
#ifndef ZARRCORE_CODEC_DEFLATE_H_
#define ZARRCORE_CODEC_DEFLATE_H_

#include <memory>

#include "zarrcore/base/result.h"
#include "zarrcore/codec/codec.h"

namespace zarrfs {

enum class DeflateWrapper { kGzip, kZlib };

/// `level`: 0 to 9, or -1 for the library's default. Several gzip members decode to their
/// concatenation, and anything else after one is kDamaged. Bytes after a zlib stream are ignored.
[[nodiscard]] std::shared_ptr<const BytesToBytesCodec> MakeDeflateCodec(DeflateWrapper wrapper,
                                                                        int level);

}  // namespace zarrfs

#endif  // ZARRCORE_CODEC_DEFLATE_H_
