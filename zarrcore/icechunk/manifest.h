// IcechunkManifest: where the chunks of some arrays are, packed: 16 bytes and 4 for each dimension
// a chunk, whereas the file takes 44 and more once it is decompressed.
//
//   coordinates   rows, sorted, of all arrays one after the other
//   references    one for each row: a chunk id and a length, or an index into `others`
//   others        what does not fit there: inline chunks, virtual ones, and ranges of an object
//   bytes         of inline chunks, and the addresses of virtual ones
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

/// Where one chunk is. Texts point into the manifest.
struct IcechunkReference {
  enum class Kind : uint8_t {
    kNative,   // `length` bytes at `offset` of the object `chunk`
    kInline,   // `bytes`
    kVirtual,  // the same range of the object at the address `bytes`
  };
  Kind kind = Kind::kNative;
  bool is_compressed = false;  // `bytes` is a zstd frame that needs the manifest's dictionary
  IcechunkId chunk{};
  uint64_t offset = 0;
  uint64_t length = 0;
  std::string_view bytes;

  bool operator==(const IcechunkReference&) const = default;
};

/// Immutable.
class IcechunkManifest {
 public:
  /// `file` is the content of manifests/`id`, and is released. kDamaged if it is another manifest,
  /// or breaks the format.
  [[nodiscard]] static Result<std::shared_ptr<const IcechunkManifest>> Parse(IcechunkFile file,
                                                                             const IcechunkId& id);

  /// The rows of one array. A sequence of coordinates, each `axes` long.
  struct Rows {
    std::span<const uint32_t> coordinates;
    size_t axes = 0;
    size_t first = 0;  // number of the first row in the manifest
    size_t count = 0;

    [[nodiscard]] std::span<const uint32_t> At(size_t row) const {
      return coordinates.subspan(row * axes, axes);
    }
    /// The first row that is not before `prefix`, which may have fewer coordinates: then the first
    /// one that begins with them, or what comes after.
    [[nodiscard]] size_t LowerBound(std::span<const uint32_t> prefix) const;
    [[nodiscard]] bool BeginsWith(size_t row, std::span<const uint32_t> prefix) const;
  };
  /// Without rows if the manifest has no such array.
  [[nodiscard]] Rows Find(const IcechunkNodeId& node) const;

  /// The reference of a row, counted from the first of all arrays.
  [[nodiscard]] IcechunkReference At(size_t row) const;

  [[nodiscard]] const ObjectInfo& info() const { return info_; }  // of the file
  [[nodiscard]] size_t size() const { return references_.size(); }
  /// Bytes that it takes.
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
  // A native chunk that is all of its object, or the number of one of `others_`.
  struct Packed {
    std::array<uint8_t, 12> id{};
    uint32_t length = 0;  // kOther: the begin of `id` is such a number
  };
  static constexpr uint32_t kOther = UINT32_MAX;
  struct Other {
    IcechunkReference::Kind kind{};
    bool is_compressed = false;
    IcechunkId chunk{};
    uint64_t offset = 0;
    uint64_t length = 0;
    uint64_t begin = 0;  // in bytes_
    uint64_t size = 0;
  };

  MemoryBudget::Share memory_;
  ObjectInfo info_;
  std::vector<Array> arrays_;  // sorted
  std::vector<uint32_t> coordinates_;
  std::vector<Packed> references_;
  std::vector<Other> others_;
  std::string bytes_;
};

}  // namespace zarrfs
