// "crc32c": the bytes followed by their CRC-32C (Castagnoli, as iSCSI has it), four bytes,
// little-endian.
#ifndef ZARRCORE_CODEC_CRC32C_H_
#define ZARRCORE_CODEC_CRC32C_H_

#include <cstdint>
#include <memory>

#include "zarrcore/base/result.h"
#include "zarrcore/codec/codec.h"

namespace zarrfs {

[[nodiscard]] Result<std::shared_ptr<const BytesToBytesCodec>> MakeCrc32cCodec(
    const CodecSpec& codec);

/// The checksum of bytes that come in pieces.
class Crc32cSum {
 public:
  void Add(BytesView piece);
  [[nodiscard]] uint32_t value() const { return ~state_; }

 private:
  uint32_t state_ = 0xffffffff;
};

/// The checksum of `bytes`; 0xE3069283 for the ASCII text "123456789".
[[nodiscard]] uint32_t Crc32c(BytesView bytes);

}  // namespace zarrfs

#endif  // ZARRCORE_CODEC_CRC32C_H_
