// The configuration of "blosc" for an encoder.
#pragma once

#include <string_view>

#include "zarrcore/codec/codec.h"

namespace zarrfs {

struct BloscParameters {
  std::string_view compressor = "lz4";
  int level = 5;
  int shuffle = 0;  // as in c-blosc: none, bytes, bits
  size_t type_size = 1;
  size_t block_size = 0;  // bytes; 0 lets the library choose

  [[nodiscard]] std::string_view shuffle_name() const;
};

/// The parameters in the configuration. Missing members, and members that no encoder accepts (a
/// type size of 0), get the defaults for elements of `item_size` bytes.
[[nodiscard]] BloscParameters BloscParametersOf(const CodecSpec& codec, size_t item_size);

}  // namespace zarrfs
