// Bytes as a test writes them, and what every bytes -> bytes decoder must stand.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "zarrcore/codec/codec.h"
#include "zarrcore/codec/registry.h"

namespace zarrfs {

/// "0a ff": pairs of hexadecimal digits, spaces where they help.
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

/// `count` bytes that compress, but not to nothing.
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

/// The codec, whose making must succeed.
inline std::shared_ptr<const BytesToBytesCodec> Codec(const std::string& name,
                                                      std::string_view configuration = "{}") {
  const auto made = std::get<BytesToBytesFactory>(*FindCodec(name))(
      CodecSpec{name, Configuration(configuration)});
  EXPECT_TRUE(made) << made.error().message;
  return made ? *made : nullptr;
}

/// The error of a configuration that must be refused.
inline Error RefusedConfiguration(const std::string& name, std::string_view configuration) {
  const auto made = std::get<BytesToBytesFactory>(*FindCodec(name))(
      CodecSpec{name, Configuration(configuration)});
  EXPECT_FALSE(made) << configuration;
  return made ? Error{} : made.error();
}

inline std::string MessageOf(const Result<Bytes>& result) {
  return result ? "no error" : result.error().message;
}

/// Every shorter input is kDamaged.
inline void ExpectTruncationFails(const BytesToBytesCodec& codec, BytesView encoded,
                                  uint64_t limit) {
  for (size_t size = 0; size < encoded.size(); ++size) {
    // A copy of its own, so that a read beyond its end is seen by a sanitizer.
    const Bytes part(encoded.begin(), encoded.begin() + static_cast<ptrdiff_t>(size));
    const Result<Bytes> decoded = codec.Decode(part, limit);
    ASSERT_FALSE(decoded) << size << " of " << encoded.size() << " bytes";
    EXPECT_EQ(decoded.error().code, ErrorCode::kDamaged);
  }
}

/// No single wrong bit makes the decoder give more than `limit` or leave its buffers.
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
