// ArrayPacker: writes the objects of one array by an ArrayPlan, and compares them with the source.
// Thread-safe.
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
  /// `target`: the new store, for reading. `folder`: its absolute path. `partial`: a folder on the
  /// same file system for unfinished files. `path`: of the array in the new store. `plan` and the
  /// source must outlive this object.
  [[nodiscard]] static Result<std::unique_ptr<ArrayPacker>> Make(
      const ArrayPlan& plan, const Store& source, const std::shared_ptr<const Store>& target,
      const std::string& folder, const std::string& partial, const std::string& path);

  struct Packed {
    bool was_there = false;  // an earlier run wrote it
    uint64_t bytes = 0;      // that were written
  };
  /// Writes an object, completely or not at all, unless it exists. Pieces that the source does not
  /// have are left out; an object without any is not written. kDamaged if a piece is invalid.
  [[nodiscard]] Result<Packed> Pack(uint64_t object) const;

  /// Reads it back: kDamaged unless each piece has the decoded values of the source's, and exists
  /// exactly if that does.
  [[nodiscard]] Result<void> Verify(uint64_t object) const;

 private:
  ArrayPacker(const ArrayPlan& plan, const Store& source) : plan_(plan), source_(source) {}
  [[nodiscard]] std::string PathOf(uint64_t object) const;
  /// Calls `visit` with slot and key of each piece of the object that lies in the array.
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
  std::string path_;    // of the new array in its store
  std::string folder_;  // the same, absolute
  std::string partial_;
  std::shared_ptr<ChunkSource> packed_;  // the new array
  // Of text, only what makes bytes of bytes is encoded anew.
  BytesPipeline text_;
  std::optional<Pipeline> encoder_;
};

}  // namespace zarrfs::ctl
