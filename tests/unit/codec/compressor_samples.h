// The decoded bytes of the samples in the compressors' tests.
#pragma once

#include "tests/unit/codec/codec_testing.h"

namespace zarrfs {

/// numpy: d = (np.arange(40)**2 % 251).astype('<u2')
inline Bytes Squares() {
  Bytes bytes(80);
  for (unsigned i = 0; i < 40; ++i) bytes[2 * i] = static_cast<std::byte>(i * i % 251);
  return bytes;
}

/// The concatenation of `a` and `b`.
inline Bytes Joined(Bytes a, const Bytes& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

/// Expects that inputs of several lengths are the same after encoding and decoding, and that
/// decoding them with a smaller limit is kDamaged.
inline void ExpectThereAndBack(const BytesToBytesCodec& codec) {
  for (const size_t size : {1, 6, 300'000}) {
    const auto encoded = codec.Encode(Pattern(size));
    ASSERT_TRUE(encoded) << MessageOf(encoded);
    EXPECT_EQ(codec.Decode(*encoded, size), Pattern(size));
    const auto too_long = codec.Decode(*encoded, size - 1);
    ASSERT_FALSE(too_long);
    EXPECT_EQ(too_long.error().code, ErrorCode::kDamaged);
  }
}

}  // namespace zarrfs
