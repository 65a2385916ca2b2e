// "vlen-utf8", "vlen-bytes": elements of variable length, as numcodecs' VLenUTF8 and VLenBytes
// write them: the number of elements, then each one's length and bytes. Counts and lengths are
// little-endian uint32.
//
// Such chunks are checked here, and texts copied to items of one size, for readers that know no
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

/// The longest of some texts.
struct TextRange {
  uint64_t bytes = 0;       // in UTF-8
  uint64_t characters = 0;  // code points
  bool has_zero = false;    // a text has a character 0, which ends it in items of one size

  void Add(const TextRange& other);
};
/// Of one text, which must be UTF-8.
[[nodiscard]] TextRange RangeOfText(BytesView text);

/// How a text is written in an item of a fixed size, with zeros behind it.
enum class TextItems { kUtf8, kUtf32 };

/// The type of such items: kNullTerminatedBytes, or kFixedLengthUtf32. `length`: bytes, or
/// characters, of the longest text.
[[nodiscard]] DataType TextType(TextItems items, uint64_t length);
[[nodiscard]] inline TextItems TextItemsOf(const DataType& type) {
  return type.kind == DataKind::kFixedLengthUtf32 ? TextItems::kUtf32 : TextItems::kUtf8;
}
/// Writes a text, which must be UTF-8, to an item of such a type. False if that is too short.
[[nodiscard]] bool StoreText(BytesView text, TextItems items, std::span<std::byte> item);

/// Chunks of texts with more bytes, decoded, are never decoded to items.
inline constexpr uint64_t kMaxTextChunk = uint64_t{64} << 20;

/// A chain whose array -> bytes codec is one of these.
class VlenChain {
 public:
  /// Whether `codecs` contain one of these.
  [[nodiscard]] static bool IsOne(std::span<const CodecSpec> codecs);

  /// kUnsupported for a codec that is not known or does not fit the data type; kDamaged for a wrong
  /// configuration.
  [[nodiscard]] static Result<VlenChain> Make(std::span<const CodecSpec> codecs,
                                              const ChunkSpec& chunk);

  /// Decompresses and checks the chunk. kDamaged, also for a chunk that decodes to more than
  /// kMaxChunkBytes; kTooLarge if memory runs out.
  [[nodiscard]] Result<void> Check(Bytes encoded) const;

  // The next are for chains of text without a transpose; CanDecodeTexts() gives kUnsupported with
  // the reason for any other. They hold at most kMaxTextChunk beside their input and result, and
  // fail with kDamaged as Check() does, also beyond that.

  [[nodiscard]] Result<void> CanDecodeTexts() const;
  [[nodiscard]] Result<TextRange> RangeOfTexts(Bytes encoded) const;
  /// All texts of a chunk as items of `item_size` bytes. kStale if one is longer: the chunk is not
  /// what the size was chosen for.
  [[nodiscard]] Result<Bytes> DecodeTexts(Bytes encoded, TextItems items, size_t item_size) const;
  /// Elements of a chunk.
  [[nodiscard]] uint64_t count() const { return count_; }
  /// What they hold at most, in bytes, but for the result.
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
