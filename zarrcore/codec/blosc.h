// "blosc": the frame of c-blosc 1: a 16-byte header, block offsets, compressed blocks.
//
// The header of a frame says how to decode it; the configuration is only used to encode. Bytes
// after the frame are ignored, as every reader does.
//
// c-blosc trusts parts of its header, so all of it is checked before the library sees the frame.
#ifndef ZARRCORE_CODEC_BLOSC_H_
#define ZARRCORE_CODEC_BLOSC_H_

#include <memory>
#include <string_view>

#include "zarrcore/base/result.h"
#include "zarrcore/codec/codec.h"

namespace zarrfs {

/// The parameters of an encoder.
struct BloscParameters {
  std::string_view compressor = "lz4";
  int level = 5;
  int shuffle = 0;  // as in c-blosc: none, bytes, bits
  size_t type_size = 1;
  size_t block_size = 0;  // bytes; 0 lets the library choose

  [[nodiscard]] std::string_view shuffle_name() const;
};

/// The parameters in the configuration. Members that are absent or that no encoder could take (a
/// type size of 0) get the defaults for elements of `item_size` bytes.
[[nodiscard]] BloscParameters BloscParametersOf(const CodecSpec& codec, size_t item_size);

/// Accepts any configuration.
[[nodiscard]] Result<std::shared_ptr<const BytesToBytesCodec>> MakeBloscCodec(
    const CodecSpec& codec);

}  // namespace zarrfs

#endif  // ZARRCORE_CODEC_BLOSC_H_
