// Checksums of four bytes, little-endian, before or after the data.
//
// "numcodecs.crc32" (that of zlib) and "numcodecs.adler32" are at the start unless "location" is
// "end"; "numcodecs.crc32c" is at the end unless that is "start"; "numcodecs.fletcher32" (that of
// HDF5, sixteen bits at a time, most significant byte first) and "numcodecs.jenkins_lookup3" (Bob
// Jenkins' hashlittle, seeded with "initval") are always at the end.
#ifndef ZARRCORE_CODEC_CHECKSUM_H_
#define ZARRCORE_CODEC_CHECKSUM_H_

#include <functional>
#include <memory>
#include <string>

#include "zarrcore/base/result.h"
#include "zarrcore/codec/codec.h"

namespace zarrfs {

enum class ChecksumLocation { kStart, kEnd };

/// A codec that verifies and removes (or adds) the checksum that `compute` returns. `name` is for
/// messages.
[[nodiscard]] std::shared_ptr<const BytesToBytesCodec> MakeChecksumCodec(
    std::string name, ChecksumLocation location, std::function<uint32_t(BytesView)> compute);

/// Any of the names above.
[[nodiscard]] Result<std::shared_ptr<const BytesToBytesCodec>> MakeNumcodecsChecksumCodec(
    const CodecSpec& codec);

}  // namespace zarrfs

#endif  // ZARRCORE_CODEC_CHECKSUM_H_
