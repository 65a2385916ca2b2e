// ArrayPacker: writes the stored objects of one array of a new store according to an ArrayPlan, and
// compares them with the source. Thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "tools/zarrctl/output_file.h"
#include "tools/zarrctl/pack/pack_plan.h"
#include "zarrcore/array/chunk_source.h"
#include "zarrcore/base/result.h"
#include "zarrcore/codec/codec.h"
#include "zarrcore/store/store.h"

namespace zarrfs::ctl {

class ArrayPacker {
 public:
  /// `target`: the new store, for reading. `folder`: its absolute path. `partial`: a folder for
  /// unfinished files, on the same file system. `path`: the path of the array in the new store.
  /// `plan` and the source must outlive this object.
  [[nodiscard]] static Result<std::unique_ptr<ArrayPacker>> Make(
      const ArrayPlan& plan, const Store& source, const std::shared_ptr<const Store>& target,
      const std::string& folder, const std::string& partial, const std::string& path);

  struct Packed {
    bool was_there = false;  // true if an earlier run has written the object
    uint64_t bytes = 0;      // the number of bytes written
  };
  /// Writes an object of the new array, completely or not at all, unless it exists. Pieces (see
  /// ArrayPlan) that the source lacks are omitted. An object without pieces is not written. Fails
  /// with kDamaged if a piece is invalid.
  [[nodiscard]] Result<Packed> Pack(uint64_t object) const;

  /// Reads an object of the new array back. Fails with kDamaged unless the object has exactly the
  /// pieces that exist in the source, and each piece decodes to the same values.
  [[nodiscard]] Result<void> Verify(uint64_t object) const;

 private:
  ArrayPacker(const ArrayPlan& plan, const Store& source) : plan_(plan), source_(source) {}
  [[nodiscard]] std::string PathOf(uint64_t object) const;
  /// Calls `visit` for each piece of the object that is inside the array, with the piece's slot in
  /// the object, its key and its number.
  template <typename Visit>
  Result<void> VisitPieces(uint64_t object, const Visit& visit) const;
  [[nodiscard]] Result<uint64_t> CopyPiece(const std::string& key, OutputFile& out) const;
  [[nodiscard]] Result<uint64_t> RecodePiece(const std::string& key, OutputFile& out) const;
  [[nodiscard]] Result<Bytes> ReadPiece(const std::string& key) const;
  [[nodiscard]] Result<Bytes> Decode(Bytes piece) const;
  [[nodiscard]] Result<void> CompareFiles(const std::string& key, const std::string& packed) const;
  [[nodiscard]] Result<void> ComparePiece(const std::string& key, InnerIndex chunk) const;

  const ArrayPlan& plan_;
  const Store& source_;
  std::shared_ptr<const Store> target_;
  std::string path_;    // the path of the new array in its store
  std::string folder_;  // the absolute path of the new array's folder
  std::string partial_;
  std::shared_ptr<ChunkSource> packed_;  // the chunks of the new array
  // The codecs that encode variable-length strings again: only the bytes-to-bytes codecs.
  BytesPipeline text_;
  std::optional<Pipeline> encoder_;
};

}  // namespace zarrfs::ctl
