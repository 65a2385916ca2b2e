// ChunkEncoding: how the bytes of a chunk file are derived from the stored bytes. FillChunk: the
// file of a chunk that is not stored.
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
    kPassThrough,  // the stored bytes, without cut parts
    kPatchedZstd,  // likewise, patched for decoders that do not accept all of RFC 8878
    kDecoded,      // the decoded elements: in C order, little-endian
  };
  Kind kind = Kind::kPassThrough;
  /// Bytes of the stored chunk that the file omits: checksums. 0 for kDecoded.
  uint64_t cut_front = 0;
  uint64_t cut_back = 0;
  /// The omitted checksums, outermost first: served bytes are checked against them.
  std::vector<Checksum> checksums = {};
  /// For kDecoded, the size of every file. For kPatchedZstd, the decoded size of each chunk; 0 if
  /// elements vary in length.
  uint64_t size = 0;
  /// For kDecoded: elements are widened (codec/widen.h).
  bool is_wide = false;
  /// For kDecoded: number of elements along each axis in the file, from the first; empty for all.
  std::vector<uint64_t> extent = {};

  /// For kPassThrough: the file is the whole stored object, even if it cannot be a chunk (empty, or
  /// of another size than all chunks of an uncompressed array have).
  bool as_stored = false;

  /// Whether the size of a file depends on the bytes of the chunk, not only on their number.
  [[nodiscard]] bool must_be_read_for_size() const { return kind == Kind::kPatchedZstd; }

  bool operator==(const ChunkEncoding&) const = default;
};

/// The elements of one chunk, encoded by the rules of kDecoded. `elements`: as decoded by the
/// codecs.
[[nodiscard]] Bytes InEncoding(Bytes elements, const ChunkEncoding& encoding, const DataType& type,
                               std::span<const uint64_t> chunk_shape);

/// Maximum decoded size of a fill chunk that is encoded and cached. Fill chunks without a
/// compressor are not cached.
inline constexpr uint64_t kMaxEncodedFill = uint64_t{64} << 20;

/// The file of a chunk that is not stored, filled with fill values, for readers that cannot do
/// without it. The same for all chunks of an array; encoded on demand, and cached together with
/// those of all arrays. Thread-safe.
class FillChunk {
 public:
  FillChunk(const ArrayMetadata& metadata, const ArrayLayout& layout, ChunkEncoding encoding);

  /// Fails if no fill chunk can be encoded like the stored chunks: a codec that can only decode, or
  /// more than kMaxEncodedFill.
  [[nodiscard]] static Result<void> CanBeMade(const ArrayMetadata& metadata,
                                              const ArrayLayout& layout);

  /// In bytes. Fails if the codecs of the array cannot encode.
  [[nodiscard]] Result<uint64_t> Size() const;
  /// Reads up to `out.size()` bytes from `offset` on; fewer at the end.
  [[nodiscard]] Result<size_t> Read(uint64_t offset, std::span<std::byte> out) const;

  /// The fill value, as in the metadata.
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
  // The period of the file, repeated up to `size_` bytes, if it is periodic.
  Bytes element_;
  uint64_t size_ = 0;
  const uint64_t number_;                           // identifies this one among all
  mutable std::atomic<uint64_t> encoded_size_ = 0;  // if it is not periodic; 0: not yet encoded
};

}  // namespace zarrfs
