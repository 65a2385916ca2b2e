// "vlen-utf8", "vlen-bytes": elements of variable length, in the format of numcodecs' VLenUTF8 and
// VLenBytes: the number of elements, then each one's length and bytes. Counts and lengths are
// little-endian uint32.
//
// This file checks such chunks, and copies texts to items of one size for readers that know no
// others.
#pragma once

#include <cstdint>
#include <span>

#include "zarrcore/base/result.h"
#include "zarrcore/codec/codec.h"
#include "zarrcore/metadata/metadata.h"

namespace zarrfs {

enum class VlenItems { kText, kBytes };

/// kDamaged unless `encoded` holds exactly `count` elements and nothing after them; text must be
/// UTF-8. Allocates nothing.
[[nodiscard]] Result<void> CheckVlen(BytesView encoded, uint64_t count, VlenItems items);

/// The maxima over some texts.
struct TextRange {
  uint64_t bytes = 0;       // in UTF-8
  uint64_t characters = 0;  // code points
  bool has_zero = false;    // a text has a character 0, which would end it in items of one size

  void Add(const TextRange& other);
};
/// The range of one text, which must be UTF-8.
[[nodiscard]] TextRange RangeOfText(BytesView text);

/// How a text is encoded in an item of a fixed size, padded with zeros.
enum class TextItems { kUtf8, kUtf32 };

/// The type of such items: kNullTerminatedBytes, or kFixedLengthUtf32. `length`: of the longest
/// text, in bytes or characters.
[[nodiscard]] DataType TextType(TextItems items, uint64_t length);
[[nodiscard]] inline TextItems TextItemsOf(const DataType& type) {
  return type.kind == DataKind::kFixedLengthUtf32 ? TextItems::kUtf32 : TextItems::kUtf8;
}
/// Writes a text, which must be UTF-8, to an item of such a type. False if the item is too short.
[[nodiscard]] bool StoreText(BytesView text, TextItems items, std::span<std::byte> item);

/// Chunks whose texts have more bytes are not decoded to items.
inline constexpr uint64_t kMaxTextChunk = uint64_t{64} << 20;

/// A chain whose array -> bytes codec is "vlen-utf8" or "vlen-bytes".
class VlenChain {
 public:
  /// Whether `codecs` contain one of these codecs.
  [[nodiscard]] static bool IsOne(std::span<const CodecSpec> codecs);

  /// kUnsupported for a codec that is not known or does not fit the data type; kDamaged for a wrong
  /// configuration.
  [[nodiscard]] static Result<VlenChain> Make(std::span<const CodecSpec> codecs,
                                              const ChunkSpec& chunk);

  /// Decompresses and checks the chunk. kDamaged, also for a chunk that decodes to more than
  /// kMaxChunkBytes; kTooLarge if memory runs out.
  [[nodiscard]] Result<void> Check(Bytes encoded) const;

  // The next are for chains of text without a transpose; CanDecodeTexts() fails with kUnsupported
  // and the reason for any other. They use at most kMaxTextChunk in addition to their input and
  // result, and fail with kDamaged like Check(), also beyond that.

  [[nodiscard]] Result<void> CanDecodeTexts() const;
  [[nodiscard]] Result<TextRange> RangeOfTexts(Bytes encoded) const;
  /// All texts of a chunk as items of `item_size` bytes. kStale if one is longer: the size was
  /// chosen for another version of the chunk.
  [[nodiscard]] Result<Bytes> DecodeTexts(Bytes encoded, TextItems items, size_t item_size) const;
  /// Elements of a chunk.
  [[nodiscard]] uint64_t count() const { return count_; }
  /// Peak working memory in bytes, excluding the result.
  [[nodiscard]] uint64_t MemoryToDecode(uint64_t encoded) const {
    return compressors_.MemoryToDecode(encoded, kMaxTextChunk);
  }

 private:
  [[nodiscard]] Result<Bytes> DecodeChecked(Bytes encoded) const;

  uint64_t count_ = 0;  // elements of a chunk
  VlenItems items_ = VlenItems::kText;
  bool is_transposed_ = false;
  BytesPipeline compressors_;
};

}  // namespace zarrfs
