// Checksum: the checksums that codecs store before or after the encoded bytes.
#pragma once

#include <cstdint>
#include <optional>

#include "zarrcore/base/result.h"
#include "zarrcore/codec/codec.h"
#include "zarrcore/metadata/metadata.h"

namespace zarrfs {

/// The size of a stored checksum in bytes. Checksums are little-endian.
inline constexpr uint64_t kChecksumBytes = 4;

class Checksum {
 public:
  enum class Kind : uint8_t { kCrc32c, kCrc32, kAdler32, kFletcher32, kJenkinsLookup3 };
  /// The number of kinds that Combine() supports. They come first in Kind.
  static constexpr size_t kCombining = 3;

  /// Returns the checksum that a codec stores, or nullopt if the codec is not a checksum. Fails if
  /// the codec's configuration is invalid or not supported.
  [[nodiscard]] static Result<std::optional<Checksum>> Of(const CodecSpec& codec);

  [[nodiscard]] Kind kind() const { return kind_; }
  /// True if the checksum is stored before the encoded bytes, false if it is stored after them.
  [[nodiscard]] bool at_start() const { return at_start_; }
  /// The name of the checksum, for messages.
  [[nodiscard]] const char* name() const;

  [[nodiscard]] uint32_t Sum(BytesView bytes) const;
  /// True if Combine() may be called for this kind.
  [[nodiscard]] bool combines() const { return static_cast<size_t>(kind_) < kCombining; }
  /// Returns the checksum of a byte range that consists of two parts, given the checksum of each
  /// part. `second_length`: the length of the second part in bytes.
  [[nodiscard]] static uint32_t Combine(Kind kind, uint32_t first, uint32_t second,
                                        uint64_t second_length);
  [[nodiscard]] static uint32_t SumOf(Kind kind, BytesView bytes);

  /// Fails with kDamaged, with both sums in the message, if the sums differ.
  [[nodiscard]] Result<void> Compare(uint32_t stored, uint32_t computed) const;

  bool operator==(const Checksum&) const = default;

 private:
  Checksum(Kind kind, bool at_start, uint32_t initial)
      : kind_(kind), at_start_(at_start), initial_(initial) {}

  Kind kind_;
  bool at_start_;
  uint32_t initial_;  // the seed of kJenkinsLookup3
};

}  // namespace zarrfs
