// "vlen-utf8", "vlen-bytes": elements of variable length, in the format of numcodecs' VLenUTF8 and
// VLenBytes. A chunk is the number of elements, followed by the length and the bytes of each
// element. Counts and lengths are little-endian uint32.
//
// The functions here check such chunks, and copy strings to fixed-size items for readers that
// support only fixed-length strings.
#pragma once

#include <cstdint>
#include <span>

#include "zarrcore/base/result.h"
#include "zarrcore/codec/codec.h"
#include "zarrcore/metadata/metadata.h"

namespace zarrfs {

enum class VlenItems { kText, kBytes };

/// Fails with kDamaged unless `encoded` has exactly `count` elements and nothing after them.
/// Strings must be valid UTF-8. Allocates nothing.
[[nodiscard]] Result<void> CheckVlen(BytesView encoded, uint64_t count, VlenItems items);

/// The maximum lengths of several strings, which determine the fixed-length type for them.
struct TextRange {
  uint64_t bytes = 0;       // the length of the longest string in bytes, as UTF-8
  uint64_t characters = 0;  // the length of the longest string in code points
  bool has_zero =
      // True if a string contains a NUL character, which would end the string in a fixed-length
      // item.
      false;

  void Add(const TextRange& other);
};
/// Returns the lengths of one string, which must be valid UTF-8.
[[nodiscard]] TextRange RangeOfText(BytesView text);

/// How strings are encoded in items of a fixed size, padded with zeros.
enum class TextItems { kUtf8, kUtf32 };

/// The data type of fixed-length items for strings: kNullTerminatedBytes or kFixedLengthUtf32.
/// `length`: the length of the longest string, in bytes or characters.
[[nodiscard]] DataType TextType(TextItems items, uint64_t length);
[[nodiscard]] inline TextItems TextItemsOf(const DataType& type) {
  return type.kind == DataKind::kFixedLengthUtf32 ? TextItems::kUtf32 : TextItems::kUtf8;
}
/// Writes a string, which must be valid UTF-8, to an item. Returns false if the item is too short.
[[nodiscard]] bool StoreText(BytesView text, TextItems items, std::span<std::byte> item);

/// The maximum decompressed size in bytes of a chunk of strings that is decoded to fixed-size
/// items.
inline constexpr uint64_t kMaxTextChunk = uint64_t{64} << 20;

/// A codec chain whose array-to-bytes codec is "vlen-utf8" or "vlen-bytes".
class VlenChain {
 public:
  /// True if `codecs` contains "vlen-utf8" or "vlen-bytes".
  [[nodiscard]] static bool IsOne(std::span<const CodecSpec> codecs);

  /// Validates a codec chain. Fails with kUnsupported for a codec that is unknown or does not fit
  /// the data type, and with kDamaged for a wrong configuration.
  [[nodiscard]] static Result<VlenChain> Make(std::span<const CodecSpec> codecs,
                                              const ChunkSpec& chunk);

  /// Decompresses and checks a chunk. Fails with kDamaged if the chunk is invalid or decodes to
  /// more than kMaxChunkBytes, and with kNoMemory if memory runs out.
  [[nodiscard]] Result<void> Check(Bytes encoded) const;

  // The functions below are for codec chains whose elements are strings, without a transpose. For
  // other chains, CanDecodeTexts() fails with kUnsupported and the reason. Decoding returns the
  // errors of Check(), and kDamaged if the decompressed chunk is larger than kMaxTextChunk.

  [[nodiscard]] Result<void> CanDecodeTexts() const;
  [[nodiscard]] Result<TextRange> RangeOfTexts(Bytes encoded) const;
  /// Decodes all strings of a chunk to items of `item_size` bytes. Fails with kStale if a string is
  /// longer than an item, which means that the item size was chosen for another version of the
  /// chunk.
  [[nodiscard]] Result<Bytes> DecodeTexts(Bytes encoded, TextItems items, size_t item_size) const;
  /// The number of elements in a chunk.
  [[nodiscard]] uint64_t count() const { return count_; }
  /// Peak memory in bytes for decoding a chunk of `encoded` bytes, including that input but not the
  /// result.
  [[nodiscard]] uint64_t MemoryToDecode(uint64_t encoded) const {
    return compressors_.MemoryToDecode(encoded, kMaxTextChunk);
  }

 private:
  [[nodiscard]] Result<Bytes> DecodeChecked(Bytes encoded) const;

  uint64_t count_ = 0;  // the number of elements in a chunk
  VlenItems items_ = VlenItems::kText;
  bool is_transposed_ = false;
  BytesPipeline compressors_;
};

}  // namespace zarrfs
