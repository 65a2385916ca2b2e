// Codecs and pipelines: encoded bytes of one chunk <-> its elements.
//
// A chain is what the core specification ("Codecs") says: any number of array -> array codecs, one
// array -> bytes codec, any number of bytes -> bytes codecs. Decoded form everywhere: the elements
// of the chunk in C order of its axes, each little-endian.
//
// Decoders are bounded by the size that the metadata promises: they never write past it and never
// allocate much more. Anything that does not decode to exactly the
// promised size is kDamaged. Codecs are immutable and may be used from any thread.
#ifndef ZARRCORE_CODEC_CODEC_H_
#define ZARRCORE_CODEC_CODEC_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "zarrcore/base/result.h"
#include "zarrcore/metadata/metadata.h"

namespace zarrfs {

using Bytes = std::vector<std::byte>;
using BytesView = std::span<const std::byte>;

/// What an array -> array or array -> bytes codec is applied to.
struct ChunkSpec {
  DataType data_type;
  std::vector<uint64_t> shape;
};

/// Largest chunk, in decoded bytes, that is ever decoded in memory.
inline constexpr uint64_t kMaxChunkBytes = uint64_t{2} << 30;

class ArrayToArrayCodec {
 public:
  virtual ~ArrayToArrayCodec() = default;
  /// What the next codec of the chain is applied to: shape and data type may be others.
  [[nodiscard]] virtual ChunkSpec EncodedSpec(const ChunkSpec& decoded) const = 0;
  [[nodiscard]] virtual Result<Bytes> Decode(BytesView encoded, const ChunkSpec& decoded) const = 0;
  [[nodiscard]] virtual Result<Bytes> Encode(BytesView decoded, const ChunkSpec& spec) const = 0;
};

class ArrayToBytesCodec {
 public:
  virtual ~ArrayToBytesCodec() = default;
  /// Size of the encoded chunk where it is the same for every chunk.
  [[nodiscard]] virtual std::optional<uint64_t> EncodedSize(const ChunkSpec& spec) const = 0;
  [[nodiscard]] virtual Result<Bytes> Decode(BytesView encoded, const ChunkSpec& spec) const = 0;
  /// The same of bytes that nobody else needs, without a copy where that can be.
  [[nodiscard]] virtual Result<Bytes> DecodeInPlace(Bytes encoded, const ChunkSpec& spec) const {
    return Decode(encoded, spec);
  }
  [[nodiscard]] virtual Result<Bytes> Encode(BytesView decoded, const ChunkSpec& spec) const = 0;
};

class BytesToBytesCodec {
 public:
  virtual ~BytesToBytesCodec() = default;
  /// Size of the encoded bytes where it follows from that of the decoded ones.
  [[nodiscard]] virtual std::optional<uint64_t> EncodedSize(uint64_t decoded_size) const = 0;
  /// `limit`: the decoded bytes must not be more than this.
  [[nodiscard]] virtual Result<Bytes> Decode(BytesView encoded, uint64_t limit) const = 0;
  [[nodiscard]] virtual Result<Bytes> Encode(BytesView decoded) const = 0;
};

/// A checked chain for chunks of one spec.
class Pipeline {
 public:
  /// kUnsupported for a codec that the registry does not have ("codec 'x' is not known");
  /// kDamaged for a chain of the wrong order or a wrong configuration.
  /// "sharding_indexed" is not a codec here: array/ takes it apart before.
  [[nodiscard]] static Result<Pipeline> Make(std::span<const CodecSpec> codecs,
                                             const ChunkSpec& chunk);

  /// Exactly decoded_size() bytes, or kDamaged. kTooLarge beyond kMaxChunkBytes.
  [[nodiscard]] Result<Bytes> Decode(BytesView encoded) const;
  /// `decoded` must have decoded_size() bytes.
  [[nodiscard]] Result<Bytes> Encode(BytesView decoded) const;

  /// Of the decoded elements.
  [[nodiscard]] const DataType& data_type() const { return specs_.front().data_type; }
  [[nodiscard]] uint64_t decoded_size() const { return decoded_size_; }
  /// Size of every encoded chunk, where the chain makes it constant (no compression).
  [[nodiscard]] std::optional<uint64_t> encoded_size() const { return encoded_size_; }
  /// No writer makes a longer one.
  [[nodiscard]] uint64_t max_encoded_size() const;

 private:
  std::vector<std::shared_ptr<const ArrayToArrayCodec>> array_to_array_;
  std::vector<ChunkSpec> specs_;  // specs_[i] is what codec i is applied to; last: array -> bytes
  std::shared_ptr<const ArrayToBytesCodec> array_to_bytes_;
  std::vector<std::shared_ptr<const BytesToBytesCodec>> bytes_to_bytes_;
  std::vector<std::optional<uint64_t>> sizes_;  // decoded size of bytes_to_bytes_[i], if constant
  uint64_t decoded_size_ = 0;
  uint64_t largest_size_ = 0;  // of all that the array -> array codecs are applied to or make
  std::optional<uint64_t> encoded_size_;
};

/// A chain of bytes -> bytes codecs alone, for bytes whose decoded size nothing states.
class BytesPipeline {
 public:
  /// kUnsupported for a codec that the registry does not have, or that is of another kind.
  [[nodiscard]] static Result<BytesPipeline> Make(std::span<const CodecSpec> codecs);

  [[nodiscard]] bool empty() const { return codecs_.empty(); }
  /// kDamaged if there would be more than `limit` bytes, or a step would have many more.
  [[nodiscard]] Result<Bytes> Decode(Bytes encoded, uint64_t limit) const;

 private:
  std::vector<std::shared_ptr<const BytesToBytesCodec>> codecs_;
};

/// The axes a "transpose" configuration names, as a permutation: encoded axis j is decoded axis
/// order[j]. Accepts the legacy "C" and "F". kDamaged if it is no permutation of `rank` axes.
[[nodiscard]] Result<std::vector<size_t>> TransposeOrder(const CodecSpec& codec, size_t rank);

}  // namespace zarrfs

#endif  // ZARRCORE_CODEC_CODEC_H_
