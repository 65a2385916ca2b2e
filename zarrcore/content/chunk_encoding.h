// ChunkEncoding: how the contents of a chunk file are derived from the stored bytes of its chunk.
// FillChunk: the file of a chunk that is not stored.
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
    kPassThrough,  // the stored bytes, without the checksums in `checksums`
    kPatchedZstd,  // like kPassThrough, but patched for decoders that do not accept all of RFC 8878
    kDecoded,      // the decoded elements in C order, little-endian
  };
  Kind kind = Kind::kPassThrough;
  /// The number of checksum bytes at the beginning and at the end of the stored chunk that are left
  /// out of the chunk file. 0 for kDecoded.
  uint64_t cut_front = 0;
  uint64_t cut_back = 0;
  /// The checksums that are left out of the chunk file, outermost first. Bytes of the file are
  /// checked against these checksums when they are read.
  std::vector<Checksum> checksums = {};
  /// For kDecoded, the size of every chunk file in bytes. For kPatchedZstd, the decoded size of
  /// each chunk, or 0 if elements vary in length.
  uint64_t size = 0;
  /// For kDecoded, true if elements are widened; see codec/widen.h.
  bool is_wide = false;
  /// For kDecoded, the number of leading elements along each axis that the file contains. Empty if
  /// the file contains all elements of the chunk.
  std::vector<uint64_t> extent = {};

  /// For kPassThrough, true if the file is always the whole stored object, even an object that
  /// cannot be a chunk because it is empty or has a wrong size.
  bool as_stored = false;

  /// True if the size of a file depends on the content of its chunk, so the chunk must be read to
  /// determine the size.
  [[nodiscard]] bool must_be_read_for_size() const { return kind == Kind::kPatchedZstd; }

  bool operator==(const ChunkEncoding&) const = default;
};

/// Converts the decoded elements of a chunk to the contents of a kDecoded file: cuts them to
/// `extent` and widens them.
[[nodiscard]] Bytes InEncoding(Bytes elements, const ChunkEncoding& encoding, const DataType& type,
                               std::span<const uint64_t> chunk_shape);

/// Maximum decoded size in bytes of a fill chunk that is encoded and cached. Fill chunks without a
/// compressor are generated on each read.
inline constexpr uint64_t kMaxEncodedFill = uint64_t{64} << 20;

/// The file of a chunk that is not stored, for readers that require a file for every chunk. The
/// file contains only fill values, so it is the same for all such chunks of an array. Encoded files
/// are made on demand, in a cache that all arrays share. Thread-safe.
class FillChunk {
 public:
  FillChunk(const ArrayMetadata& metadata, const ArrayLayout& layout, ChunkEncoding encoding);

  /// Fails if a fill chunk cannot be encoded like the stored chunks, because a codec can only
  /// decode, or because the chunk is larger than kMaxEncodedFill.
  [[nodiscard]] static Result<void> CanBeMade(const ArrayMetadata& metadata,
                                              const ArrayLayout& layout);

  /// The size of the file in bytes. Fails if a codec of the array cannot encode.
  [[nodiscard]] Result<uint64_t> Size() const;
  /// Reads up to `out.size()` bytes from `offset` on. Returns the number of bytes read, which is
  /// smaller only at the end of the file.
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
  // The element that a periodic file repeats up to `size_` bytes.
  Bytes element_;
  uint64_t size_ = 0;
  const uint64_t number_;  // identifies this object in the shared cache
  // The size of a file that is not periodic; 0 if it has not been encoded yet.
  mutable std::atomic<uint64_t> encoded_size_ = 0;
};

}  // namespace zarrfs
