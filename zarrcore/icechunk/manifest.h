// IcechunkManifest: the locations of the chunks of some arrays, packed. It needs 16 bytes per chunk
// and 4 more per dimension, whereas the decompressed file has at least 44 bytes per chunk.
//
//   coordinates   the sorted rows of all arrays, one array after the other
//   references    one per row: a chunk id and a length; an index into `places` with an offset and a
//                 length; or an index into `others`
//   places        the files of virtual chunks, one entry per run of consecutive chunks in a file
//   others        all other kinds: inline chunks, ranges of an object, and chunks of 2 GiB and more
//   bytes         the bytes of inline chunks, and the addresses and ETags of virtual chunks
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "zarrcore/base/memory_budget.h"
#include "zarrcore/base/result.h"
#include "zarrcore/icechunk/icechunk_file.h"
#include "zarrcore/icechunk/object_id.h"

namespace zarrfs {

/// The location of one chunk. Its strings point into the manifest.
struct IcechunkReference {
  enum class Kind : uint8_t {
    kNative,   // `length` bytes at `offset` of the object with the id `chunk`
    kInline,   // the chunk itself is in `bytes`
    kVirtual,  // `length` bytes at `offset` of the object at the address `bytes`
  };
  Kind kind = Kind::kNative;
  bool is_compressed = false;  // `bytes` is a zstd frame; see LocationOf()
  IcechunkId chunk{};
  uint64_t offset = 0;
  uint64_t length = 0;
  std::string_view bytes;
  // The ETag or modification time of the object that contains a virtual chunk; "" and 0 if unknown.
  std::string_view etag;
  uint32_t modified = 0;  // in seconds since 1970

  bool operator==(const IcechunkReference&) const = default;
};

/// The references of a manifest, packed. Immutable.
class IcechunkManifest {
 public:
  /// Parses `file`, the content of manifests/`id`. kDamaged if `file` is another manifest, or
  /// violates the format.
  [[nodiscard]] static Result<std::shared_ptr<const IcechunkManifest>> Parse(IcechunkFile file,
                                                                             const IcechunkId& id);

  /// The rows of one array. A row has `axes` coordinates.
  struct Rows {
    std::span<const uint32_t> coordinates;
    size_t axes = 0;
    size_t first = 0;  // the index of the first row among all rows of the manifest
    size_t count = 0;

    [[nodiscard]] std::span<const uint32_t> At(size_t row) const {
      return coordinates.subspan(row * axes, axes);
    }
    /// The first row that is not less than `prefix`. `prefix` may have fewer coordinates than a
    /// row. The result is then the first row that begins with `prefix` or follows it.
    [[nodiscard]] size_t LowerBound(std::span<const uint32_t> prefix) const;
    [[nodiscard]] bool BeginsWith(size_t row, std::span<const uint32_t> prefix) const;
  };
  /// The rows of an array; none if the manifest does not contain the array.
  [[nodiscard]] Rows Find(const IcechunkNodeId& node) const;

  /// Returns the reference of the row with this index among all rows of the manifest.
  [[nodiscard]] IcechunkReference At(size_t row) const;

  /// The unchecked address of a virtual chunk of this manifest (virtual_prefix.h). kDamaged if it
  /// cannot be decompressed, or is longer than any valid address.
  [[nodiscard]] Result<std::string> LocationOf(const IcechunkReference& reference) const;

  /// The attributes of the manifest's file.
  [[nodiscard]] const ObjectInfo& info() const { return info_; }
  [[nodiscard]] size_t size() const { return references_.size(); }
  /// The memory of this object, in bytes.
  [[nodiscard]] uint64_t bytes_in_memory() const { return memory_.bytes(); }

 private:
  class Packing;

  struct Array {
    IcechunkNodeId node{};
    size_t axes = 0;
    size_t first = 0;
    size_t count = 0;
    size_t first_coordinate = 0;
  };
  // A packed reference: a native chunk at offset 0 of its object, a virtual chunk, or the index of
  // an element of `others_`.
  struct Packed {
    // The chunk id. If `length` has the bit kIsVirtual: the index of an element of `places_`, in
    // four bytes, and the offset, in eight. If `length` is kOther: the index of an element of
    // `others_`.
    std::array<uint8_t, 12> id{};
    uint32_t length = 0;
  };
  static constexpr uint32_t kIsVirtual = 1u << 31;
  // The maximum chunk length, in bytes, that Packed::length can hold.
  static constexpr uint32_t kMaxShort = kIsVirtual - 2;
  static constexpr uint32_t kOther = UINT32_MAX;
  // The file of one or more consecutive virtual chunks: its address, ETag and modification time.
  struct Place {
    uint64_t begin = 0;      // offset in bytes_, of the address
    uint32_t size = 0;       // the length of the address
    uint32_t etag_size = 0;  // the length of the ETag, which follows the address
    uint32_t modified = 0;
    bool is_compressed = false;
  };
  struct Other {
    IcechunkReference::Kind kind{};
    bool is_compressed = false;
    IcechunkId chunk{};
    uint64_t offset = 0;
    uint64_t length = 0;
    uint64_t begin = 0;  // an offset in bytes_
    uint64_t size = 0;
    uint32_t etag_size = 0;  // the length of the ETag, which follows the `size` bytes
    uint32_t modified = 0;
  };

  MemoryBudget::Share memory_;
  ObjectInfo info_;
  std::vector<Array> arrays_;  // sorted by id
  std::vector<uint32_t> coordinates_;
  std::vector<Packed> references_;
  std::vector<Place> places_;
  std::vector<Other> others_;
  std::string bytes_;
  std::string dictionary_;  // the zstd dictionary for compressed addresses
};

}  // namespace zarrfs
