// Codecs and pipelines: encoded bytes of one chunk <-> its elements.
//
// A chain follows the core specification ("Codecs"): any number of array -> array codecs, one array
// -> bytes codec, any number of bytes -> bytes codecs. Decoded bytes are always the elements of the
// chunk in C order of its axes, each little-endian.
//
// The size promised by the metadata bounds a decoder: it never writes past it and never allocates
// much more. Anything that does not decode to exactly that size is kDamaged. Codecs are immutable
// and thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "zarrcore/base/checked.h"
#include "zarrcore/base/result.h"
#include "zarrcore/metadata/metadata.h"

namespace zarrfs {

using Bytes = std::vector<std::byte>;
using BytesView = std::span<const std::byte>;

/// Releases unused capacity if that is worth a copy: decoders allocate for the longest possible
/// output. For bytes that are cached; their charge is the capacity.
void ShrinkToFit(Bytes& bytes);

/// The input of an array -> array or array -> bytes codec.
struct ChunkSpec {
  DataType data_type;
  std::vector<uint64_t> shape;

  /// Bytes of all elements; nullopt if they overflow.
  [[nodiscard]] std::optional<uint64_t> size() const {
    return CheckedProduct(shape, data_type.item_size);
  }
};

/// Larger chunks, in decoded bytes, are never decoded.
inline constexpr uint64_t kMaxChunkBytes = uint64_t{2} << 30;

class ArrayToArrayCodec {
 public:
  virtual ~ArrayToArrayCodec() = default;
  /// The input of the next codec in the chain: shape and data type may differ.
  [[nodiscard]] virtual ChunkSpec EncodedSpec(const ChunkSpec& decoded) const = 0;
  [[nodiscard]] virtual Result<Bytes> Decode(BytesView encoded, const ChunkSpec& decoded) const = 0;
  /// Like Decode(), but may reuse or free the memory of `encoded`.
  [[nodiscard]] virtual Result<Bytes> DecodeInPlace(Bytes encoded, const ChunkSpec& decoded) const {
    return Decode(encoded, decoded);
  }
  /// Peak memory of DecodeInPlace() in bytes for `encoded` bytes of input: input, output and
  /// intermediates.
  [[nodiscard]] virtual uint64_t MemoryToDecode(uint64_t encoded, const ChunkSpec& decoded) const {
    return encoded + decoded.size().value_or(0);
  }
  [[nodiscard]] virtual Result<Bytes> Encode(BytesView decoded, const ChunkSpec& spec) const = 0;
};

class ArrayToBytesCodec {
 public:
  virtual ~ArrayToBytesCodec() = default;
  /// Size of an encoded chunk, if all chunks have the same.
  [[nodiscard]] virtual std::optional<uint64_t> EncodedSize(const ChunkSpec& /*spec*/) const {
    return std::nullopt;
  }
  /// Otherwise an upper bound for any writer's output, for chunks of kMaxChunkBytes or less.
  [[nodiscard]] virtual uint64_t MaxEncodedSize(const ChunkSpec& spec) const {
    return spec.size().value_or(0);
  }
  [[nodiscard]] virtual Result<Bytes> Decode(BytesView encoded, const ChunkSpec& spec) const = 0;
  /// Like Decode(), but may reuse the memory of `encoded`.
  [[nodiscard]] virtual Result<Bytes> DecodeInPlace(Bytes encoded, const ChunkSpec& spec) const {
    return Decode(encoded, spec);
  }
  /// As ArrayToArrayCodec::MemoryToDecode().
  [[nodiscard]] virtual uint64_t MemoryToDecode(uint64_t encoded, const ChunkSpec& spec) const {
    return encoded + spec.size().value_or(0);
  }
  [[nodiscard]] virtual Result<Bytes> Encode(BytesView decoded, const ChunkSpec& spec) const = 0;
};

class BytesToBytesCodec {
 public:
  virtual ~BytesToBytesCodec() = default;
  /// Size of the encoded bytes, if the decoded size determines it.
  [[nodiscard]] virtual std::optional<uint64_t> EncodedSize(uint64_t /*decoded_size*/) const {
    return std::nullopt;
  }
  /// kDamaged if there are more than `limit` decoded bytes. Memory beyond MemoryToDecode() is taken
  /// from ProcessMemory().
  [[nodiscard]] virtual Result<Bytes> Decode(BytesView encoded, uint64_t limit) const = 0;
  /// Like Decode(), but may reuse the memory of `encoded`.
  [[nodiscard]] virtual Result<Bytes> DecodeInPlace(Bytes encoded, uint64_t limit) const {
    return Decode(encoded, limit);
  }
  /// Peak memory of DecodeInPlace() in bytes, excluding a few megabytes of its own.
  [[nodiscard]] virtual uint64_t MemoryToDecode(uint64_t encoded, uint64_t limit) const {
    return encoded + limit;
  }
  [[nodiscard]] virtual Result<Bytes> Encode(BytesView decoded) const = 0;
};

/// For codecs: whether `bytes` are the elements of a chunk of `shape`. kTooLarge if its size
/// overflows; else `wrong_size`.
[[nodiscard]] Result<void> CheckSize(std::string_view codec, BytesView bytes, const DataType& type,
                                     const std::vector<uint64_t>& shape, ErrorCode wrong_size);

/// A checked chain for chunks of one spec.
class Pipeline {
 public:
  /// kUnsupported for a codec that is not in the registry ("codec 'x' is not known"); kDamaged for
  /// a wrong order or configuration. "sharding_indexed" is not a codec here: array/ has already
  /// removed it.
  [[nodiscard]] static Result<Pipeline> Make(std::span<const CodecSpec> codecs,
                                             const ChunkSpec& chunk);

  /// Returns exactly decoded_size() bytes, or kDamaged. kTooLarge beyond kMaxChunkBytes; the errors
  /// of MemoryBudget::Take() if an input needs more than MemoryToDecode().
  [[nodiscard]] Result<Bytes> Decode(Bytes encoded) const;
  [[nodiscard]] Result<Bytes> Decode(BytesView encoded) const {
    return Decode(Bytes(encoded.begin(), encoded.end()));
  }
  /// Peak memory of Decode() in bytes for `encoded` bytes of input: input, output and
  /// intermediates.
  [[nodiscard]] uint64_t MemoryToDecode(uint64_t encoded) const;
  /// `decoded` must have decoded_size() bytes.
  [[nodiscard]] Result<Bytes> Encode(BytesView decoded) const;

  /// The type of the decoded elements.
  [[nodiscard]] const DataType& data_type() const { return specs_.front().data_type; }
  [[nodiscard]] uint64_t decoded_size() const { return decoded_size_; }
  /// Size of every encoded chunk, if it is constant (no compression).
  [[nodiscard]] std::optional<uint64_t> encoded_size() const { return encoded_size_; }
  /// An upper bound for the encoded size from any writer.
  [[nodiscard]] uint64_t max_encoded_size() const;

 private:
  // Maximum output of a bytes -> bytes codec in bytes.
  [[nodiscard]] uint64_t LimitOf(size_t codec) const;

  std::vector<std::shared_ptr<const ArrayToArrayCodec>> array_to_array_;
  std::vector<ChunkSpec> specs_;  // specs_[i] is the input of codec i; last: array -> bytes
  std::shared_ptr<const ArrayToBytesCodec> array_to_bytes_;
  std::vector<std::shared_ptr<const BytesToBytesCodec>> bytes_to_bytes_;
  std::vector<std::optional<uint64_t>> sizes_;  // decoded size of bytes_to_bytes_[i], if constant
  uint64_t decoded_size_ = 0;
  uint64_t largest_size_ = 0;   // of all inputs and outputs of the array -> array codecs
  uint64_t most_as_bytes_ = 0;  // maximum output of the array -> bytes codec, in bytes
  std::optional<uint64_t> encoded_size_;
};

/// A chain of bytes -> bytes codecs alone, for data of unknown decoded size.
class BytesPipeline {
 public:
  /// kUnsupported for a codec that is not in the registry or of another kind.
  [[nodiscard]] static Result<BytesPipeline> Make(std::span<const CodecSpec> codecs);

  [[nodiscard]] bool empty() const { return codecs_.empty(); }
  /// kDamaged if the result would exceed `limit` bytes, or an intermediate would exceed it by far.
  [[nodiscard]] Result<Bytes> Decode(Bytes encoded, uint64_t limit) const;
  /// As Pipeline::MemoryToDecode().
  [[nodiscard]] uint64_t MemoryToDecode(uint64_t encoded, uint64_t limit) const;

 private:
  std::vector<std::shared_ptr<const BytesToBytesCodec>> codecs_;
};

/// The "order" of a "transpose" configuration: encoded axis j is decoded axis order[j]. Accepts the
/// legacy "C" and "F". kDamaged unless it is a permutation of `rank` axes.
[[nodiscard]] Result<std::vector<size_t>> TransposeOrder(const CodecSpec& codec, size_t rank);

}  // namespace zarrfs
