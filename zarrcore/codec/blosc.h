// The parameters of a "blosc" encoder, from the configuration of the codec.
#pragma once

#include <string_view>

#include "zarrcore/codec/codec.h"

namespace zarrfs {

struct BloscParameters {
  std::string_view compressor = "lz4";
  int level = 5;
  int shuffle = 0;  // numbered as in c-blosc: 0 no shuffle, 1 byte shuffle, 2 bit shuffle
  size_t type_size = 1;
  size_t block_size = 0;  // in bytes; 0 lets c-blosc choose

  [[nodiscard]] std::string_view shuffle_name() const;
};

/// Reads the parameters in the configuration of `codec`. Missing members, and values that no
/// encoder accepts, such as a type size of 0, are replaced by the defaults for elements of
/// `item_size` bytes.
[[nodiscard]] BloscParameters BloscParametersOf(const CodecSpec& codec, size_t item_size);

}  // namespace zarrfs
