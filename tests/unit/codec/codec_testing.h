// Bytes as hexadecimal digits, and checks that every bytes-to-bytes decoder must pass.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "zarrcore/codec/codec.h"
#include "zarrcore/codec/registry.h"

namespace zarrfs {

/// Parses pairs of hexadecimal digits, such as "0a ff". Ignores spaces.
inline Bytes Hex(std::string_view digits) {
  Bytes bytes;
  std::string pair;
  for (const char digit : digits) {
    if (digit != ' ') pair += digit;
    if (pair.size() < 2) continue;
    bytes.push_back(static_cast<std::byte>(std::stoi(pair, nullptr, 16)));
    pair.clear();
  }
  return bytes;
}

inline Bytes Text(std::string_view text) {
  Bytes bytes;
  for (const char c : text) bytes.push_back(static_cast<std::byte>(c));
  return bytes;
}

/// Returns `count` bytes that are moderately compressible.
inline Bytes Pattern(size_t count) {
  Bytes bytes(count);
  for (size_t i = 0; i < count; ++i) bytes[i] = static_cast<std::byte>((i / 7) * (i % 5));
  return bytes;
}

inline DataType Type(std::string name, DataKind kind, size_t item_size) {
  DataType type;
  type.name = std::move(name);
  type.kind = kind;
  type.item_size = item_size;
  return type;
}

inline Json Configuration(std::string_view text) { return Json::parse(text); }

/// Makes a codec. Fails the test if the factory fails.
inline std::shared_ptr<const BytesToBytesCodec> Codec(const std::string& name,
                                                      std::string_view configuration = "{}") {
  const auto made = std::get<BytesToBytesFactory>(*FindCodec(name))(
      CodecSpec{name, Configuration(configuration)});
  EXPECT_TRUE(made) << made.error().message;
  return made ? *made : nullptr;
}

/// Returns the error for an invalid configuration. Fails the test if the factory accepts it.
inline Error RefusedConfiguration(const std::string& name, std::string_view configuration) {
  const auto made = std::get<BytesToBytesFactory>(*FindCodec(name))(
      CodecSpec{name, Configuration(configuration)});
  EXPECT_FALSE(made) << configuration;
  return made ? Error{} : made.error();
}

inline std::string MessageOf(const Result<Bytes>& result) {
  return result ? "no error" : result.error().message;
}

/// Expects kDamaged for every shorter prefix of `encoded`.
inline void ExpectTruncationFails(const BytesToBytesCodec& codec, BytesView encoded,
                                  uint64_t limit) {
  for (size_t size = 0; size < encoded.size(); ++size) {
    // A separate copy, so a sanitizer detects reads past its end.
    const Bytes part(encoded.begin(), encoded.begin() + static_cast<ptrdiff_t>(size));
    const Result<Bytes> decoded = codec.Decode(part, limit);
    ASSERT_FALSE(decoded) << size << " of " << encoded.size() << " bytes";
    EXPECT_EQ(decoded.error().code, ErrorCode::kDamaged);
  }
}

/// Flips each bit of `encoded`. Expects at most `limit` decoded bytes, or kDamaged. A sanitizer
/// detects accesses outside the decoder's buffers.
inline void ExpectBitFlipsAreContained(const BytesToBytesCodec& codec, BytesView encoded,
                                       uint64_t limit) {
  for (size_t bit = 0; bit < encoded.size() * 8; ++bit) {
    Bytes flipped(encoded.begin(), encoded.end());
    flipped[bit / 8] ^= static_cast<std::byte>(1 << (bit % 8));
    const Result<Bytes> decoded = codec.Decode(flipped, limit);
    if (decoded) {
      EXPECT_LE(decoded->size(), limit) << "bit " << bit;
    } else {
      EXPECT_EQ(decoded.error().code, ErrorCode::kDamaged) << "bit " << bit;
    }
  }
}

}  // namespace zarrfs
