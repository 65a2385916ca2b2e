// Codecs and pipelines, which convert between the encoded bytes of one chunk and its elements. All
// are immutable and thread-safe.
//
// A chain follows the core specification ("Codecs"): any number of array-to-array codecs, one
// array-to-bytes codec, any number of bytes-to-bytes codecs. Decoded bytes are always the elements
// of the chunk in C order of its axes, each little-endian.
//
// The metadata determine the decoded size of a chunk. A decoder never writes more bytes than that,
// and never allocates much more. If the decoded bytes have any other size, decoding fails with
// kDamaged.
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

/// Releases the unused capacity of `bytes` if it is more than a small part of the size. Call this
/// before caching bytes, because decoders allocate for the longest possible output, and caches
/// charge the capacity.
void ShrinkToFit(Bytes& bytes);

/// The data type and shape of a chunk that an array-to-array or array-to-bytes codec encodes.
struct ChunkSpec {
  DataType data_type;
  std::vector<uint64_t> shape;

  /// Returns the total size of the elements in bytes, or nullopt if the size overflows.
  [[nodiscard]] std::optional<uint64_t> size() const {
    return CheckedProduct(shape, data_type.item_size);
  }
};

/// Maximum decoded size of a chunk in bytes. Larger chunks are never decoded.
inline constexpr uint64_t kMaxChunkBytes = uint64_t{2} << 30;

class ArrayToArrayCodec {
 public:
  virtual ~ArrayToArrayCodec() = default;
  /// Returns the data type and shape of the encoded chunk, which the next codec in the chain
  /// encodes. They may differ from those of `decoded`.
  [[nodiscard]] virtual ChunkSpec EncodedSpec(const ChunkSpec& decoded) const = 0;
  [[nodiscard]] virtual Result<Bytes> Decode(BytesView encoded, const ChunkSpec& decoded) const = 0;
  /// Like Decode(), but may reuse or free the memory of `encoded`.
  [[nodiscard]] virtual Result<Bytes> DecodeInPlace(Bytes encoded, const ChunkSpec& decoded) const {
    return Decode(encoded, decoded);
  }
  /// Peak memory of DecodeInPlace() in bytes for an input of `encoded` bytes: input, output and
  /// intermediate results.
  [[nodiscard]] virtual uint64_t MemoryToDecode(uint64_t encoded, const ChunkSpec& decoded) const {
    return encoded + decoded.size().value_or(0);
  }
  [[nodiscard]] virtual Result<Bytes> Encode(BytesView decoded, const ChunkSpec& spec) const = 0;
};

class ArrayToBytesCodec {
 public:
  virtual ~ArrayToBytesCodec() = default;
  /// Returns the size in bytes of every encoded chunk of this data type and shape, or nullopt if
  /// the size varies.
  [[nodiscard]] virtual std::optional<uint64_t> EncodedSize(const ChunkSpec& /*spec*/) const {
    return std::nullopt;
  }
  /// Returns an upper bound in bytes for the size of an encoded chunk, regardless of the program
  /// that wrote it. Called only if EncodedSize() is nullopt and the chunk has at most
  /// kMaxChunkBytes decoded bytes.
  [[nodiscard]] virtual uint64_t MaxEncodedSize(const ChunkSpec& spec) const {
    return spec.size().value_or(0);
  }
  [[nodiscard]] virtual Result<Bytes> Decode(BytesView encoded, const ChunkSpec& spec) const = 0;
  /// Like Decode(), but may reuse the memory of `encoded`.
  [[nodiscard]] virtual Result<Bytes> DecodeInPlace(Bytes encoded, const ChunkSpec& spec) const {
    return Decode(encoded, spec);
  }
  /// Peak memory of DecodeInPlace() in bytes; see ArrayToArrayCodec::MemoryToDecode().
  [[nodiscard]] virtual uint64_t MemoryToDecode(uint64_t encoded, const ChunkSpec& spec) const {
    return encoded + spec.size().value_or(0);
  }
  [[nodiscard]] virtual Result<Bytes> Encode(BytesView decoded, const ChunkSpec& spec) const = 0;
};

class BytesToBytesCodec {
 public:
  virtual ~BytesToBytesCodec() = default;
  /// Returns the size to which every input of `decoded_size` bytes is encoded, or nullopt if that
  /// size depends on the input's content.
  [[nodiscard]] virtual std::optional<uint64_t> EncodedSize(uint64_t /*decoded_size*/) const {
    return std::nullopt;
  }
  /// Decodes `encoded`. Fails with kDamaged if the result would exceed `limit` bytes. A codec that
  /// needs more memory than MemoryToDecode() reserves the rest from ProcessMemory().
  [[nodiscard]] virtual Result<Bytes> Decode(BytesView encoded, uint64_t limit) const = 0;
  /// Like Decode(), but may reuse the memory of `encoded`.
  [[nodiscard]] virtual Result<Bytes> DecodeInPlace(Bytes encoded, uint64_t limit) const {
    return Decode(encoded, limit);
  }
  /// Peak memory of DecodeInPlace() in bytes, excluding a few megabytes that every codec may use.
  [[nodiscard]] virtual uint64_t MemoryToDecode(uint64_t encoded, uint64_t limit) const {
    return encoded + limit;
  }
  [[nodiscard]] virtual Result<Bytes> Encode(BytesView decoded) const = 0;
};

/// Checks that `bytes` has the size of a chunk of `shape`. Fails with kTooLarge if that size
/// overflows, and with `wrong_size` if the sizes differ. `codec`: the name used in messages.
[[nodiscard]] Result<void> CheckSize(std::string_view codec, BytesView bytes, const DataType& type,
                                     const std::vector<uint64_t>& shape, ErrorCode wrong_size);

/// A validated codec chain for chunks of one ChunkSpec.
class Pipeline {
 public:
  /// Validates a codec chain. Fails with kUnsupported for a codec that is not in the registry
  /// ("codec 'x' is not known"), and with kDamaged for a wrong order or configuration. The chain
  /// must not contain "sharding_indexed", which zarrcore/array handles.
  [[nodiscard]] static Result<Pipeline> Make(std::span<const CodecSpec> codecs,
                                             const ChunkSpec& chunk);

  /// Decodes a chunk to exactly decoded_size() bytes. Fails with kDamaged if the chunk is invalid,
  /// with kTooLarge if an array in the chain is larger than kMaxChunkBytes, with kWouldBlock if the
  /// request was abandoned, and with kNoMemory if memory runs out. If a codec needs more memory
  /// than MemoryToDecode(), also returns the errors of MemoryBudget::Take().
  [[nodiscard]] Result<Bytes> Decode(Bytes encoded) const;
  [[nodiscard]] Result<Bytes> Decode(BytesView encoded) const {
    return Decode(Bytes(encoded.begin(), encoded.end()));
  }
  /// Peak memory of Decode() in bytes for an input of `encoded` bytes: input, output and
  /// intermediate results.
  [[nodiscard]] uint64_t MemoryToDecode(uint64_t encoded) const;
  /// Encodes a chunk. `decoded` must have decoded_size() bytes.
  [[nodiscard]] Result<Bytes> Encode(BytesView decoded) const;

  /// The type of the decoded elements.
  [[nodiscard]] const DataType& data_type() const { return specs_.front().data_type; }
  [[nodiscard]] uint64_t decoded_size() const { return decoded_size_; }
  /// The size of every encoded chunk in bytes; nullopt if sizes vary, for example because the chain
  /// compresses.
  [[nodiscard]] std::optional<uint64_t> encoded_size() const { return encoded_size_; }
  /// An upper bound in bytes for the size of an encoded chunk, regardless of the program that wrote
  /// it.
  [[nodiscard]] uint64_t max_encoded_size() const;

 private:
  // The maximum number of bytes to which bytes_to_bytes_[codec] may decode.
  [[nodiscard]] uint64_t LimitOf(size_t codec) const;

  std::vector<std::shared_ptr<const ArrayToArrayCodec>> array_to_array_;
  // specs_[i] has the data type and shape of the chunk that array_to_array_[i] encodes. The last
  // element has those of the chunk that array_to_bytes_ encodes.
  std::vector<ChunkSpec> specs_;
  std::shared_ptr<const ArrayToBytesCodec> array_to_bytes_;
  std::vector<std::shared_ptr<const BytesToBytesCodec>> bytes_to_bytes_;
  // sizes_[i] is the number of bytes to which bytes_to_bytes_[i] decodes, if it is constant.
  std::vector<std::optional<uint64_t>> sizes_;
  uint64_t decoded_size_ = 0;
  // The size in bytes of the largest chunk in specs_.
  uint64_t largest_size_ = 0;
  uint64_t most_as_bytes_ = 0;  // maximum size of the output of array_to_bytes_, in bytes
  std::optional<uint64_t> encoded_size_;
};

/// A codec chain with only bytes-to-bytes codecs, for data of unknown decoded size.
class BytesPipeline {
 public:
  /// Validates a codec chain. Fails with kUnsupported for a codec that is not in the registry, or
  /// is not a bytes-to-bytes codec.
  [[nodiscard]] static Result<BytesPipeline> Make(std::span<const CodecSpec> codecs);

  [[nodiscard]] bool empty() const { return codecs_.empty(); }
  /// Decodes `encoded`. Fails with kDamaged if the result would exceed `limit` bytes, or if an
  /// intermediate result would be much larger than `limit`.
  [[nodiscard]] Result<Bytes> Decode(Bytes encoded, uint64_t limit) const;
  /// Peak memory of Decode() in bytes; see Pipeline::MemoryToDecode().
  [[nodiscard]] uint64_t MemoryToDecode(uint64_t encoded, uint64_t limit) const;

 private:
  std::vector<std::shared_ptr<const BytesToBytesCodec>> codecs_;
};

/// The "order" of a "transpose" codec: encoded axis j is decoded axis order[j]. Accepts the legacy
/// values "C" and "F". Fails with kDamaged unless the order is a permutation of `rank` axes.
[[nodiscard]] Result<std::vector<size_t>> TransposeOrder(const CodecSpec& codec, size_t rank);

}  // namespace zarrfs
