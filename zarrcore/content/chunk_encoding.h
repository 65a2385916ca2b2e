// ChunkEncoding: how the bytes of a chunk file come from what is stored. FillChunk: the file of a
// chunk that is not stored.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "zarrcore/array/layout.h"
#include "zarrcore/base/result.h"
#include "zarrcore/codec/checksum.h"
#include "zarrcore/codec/codec.h"
#include "zarrcore/metadata/metadata.h"

namespace zarrfs {

struct ChunkEncoding {
  enum class Kind {
    kPassThrough,  // the stored bytes, without what is cut off
    kPatchedZstd,  // the same, patched for decoders that accept less than RFC 8878 allows
    kDecoded,      // the elements, decoded: in C order, little-endian
  };
  Kind kind = Kind::kPassThrough;
  /// Bytes of the stored chunk that the file leaves out: checksums. 0 for kDecoded.
  uint64_t cut_front = 0;
  uint64_t cut_back = 0;
  /// Those that are left out, the outermost first: what is served is checked against them.
  std::vector<Checksum> checksums = {};
  /// For kDecoded, the bytes of every file. For kPatchedZstd, the bytes that each chunk decodes to;
  /// 0 if elements vary in length.
  uint64_t size = 0;
  /// For kDecoded: elements are widened (codec/widen.h).
  bool is_wide = false;
  /// For kDecoded: how many elements along each axis the file has, from the first; empty for all.
  std::vector<uint64_t> extent = {};

  /// For kPassThrough: the file is the whole stored object, even one that can be no chunk (empty,
  /// or of another size than all chunks of an uncompressed array have).
  bool as_stored = false;

  /// The size of a file depends on the bytes of the chunk, not only on how many there are.
  [[nodiscard]] bool must_be_read_for_size() const { return kind == Kind::kPatchedZstd; }

  bool operator==(const ChunkEncoding&) const = default;
};

/// The elements of one chunk, encoded as kDecoded says. `elements`: as the codecs decode them.
[[nodiscard]] Bytes InEncoding(Bytes elements, const ChunkEncoding& encoding, const DataType& type,
                               std::span<const uint64_t> chunk_shape);

/// The largest fill chunk, in decoded bytes, that is encoded and kept. (Those without a compressor
/// are not kept.)
inline constexpr uint64_t kMaxEncodedFill = uint64_t{64} << 20;

/// The file of a chunk that is not stored, for readers that must not make it up themselves: fill
/// values. The same for all chunks of an array; encoded when it is used, and kept in a cache of
/// all arrays. Thread-safe.
class FillChunk {
 public:
  FillChunk(const ArrayMetadata& metadata, const ArrayLayout& layout, ChunkEncoding encoding);

  /// Fails if no fill chunk can be encoded as the stored chunks are: a codec that can only decode,
  /// or more than kMaxEncodedFill.
  [[nodiscard]] static Result<void> CanBeMade(const ArrayMetadata& metadata,
                                              const ArrayLayout& layout);

  /// In bytes. Fails if the codecs of the array cannot encode.
  [[nodiscard]] Result<uint64_t> Size() const;
  /// Up to `out.size()` bytes from `offset` on; as many as there are.
  [[nodiscard]] Result<size_t> Read(uint64_t offset, std::span<std::byte> out) const;

  /// The element, as in the metadata.
  [[nodiscard]] const FillBytes& fill() const { return fill_; }

 private:
  [[nodiscard]] bool is_periodic() const { return size_ > 0; }
  Result<Bytes> Encode() const;
  Result<std::shared_ptr<const Bytes>> Encoded() const;

  const FillBytes fill_;
  const DataType type_;
  const std::vector<CodecSpec> codecs_;
  const std::vector<uint64_t> chunk_shape_;
  const ChunkEncoding encoding_;
  // What the file repeats, up to `size_` bytes, where it is periodic.
  Bytes element_;
  uint64_t size_ = 0;
  const uint64_t number_;                           // of this one among all
  mutable std::atomic<uint64_t> encoded_size_ = 0;  // where it is not periodic; 0: not encoded yet
};

}  // namespace zarrfs
