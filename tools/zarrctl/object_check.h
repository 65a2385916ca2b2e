// ObjectCheck: checks every index entry and every chunk in the stored objects of an array. Chunks
// are read and decoded. Chunks with elements of variable length are only checked for their
// structure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "tools/zarrctl/verify_report.h"
#include "zarrcore/array/chunk_source.h"
#include "zarrcore/base/result.h"
#include "zarrcore/codec/vlen.h"
#include "zarrcore/hierarchy/hierarchy.h"

namespace zarrfs::ctl {

/// Checks the objects of one array. Thread-safe.
class ObjectCheck {
 public:
  /// `array` must be an array whose `chunks` are not null.
  explicit ObjectCheck(NodePtr array);

  /// Returns why the contents of chunks are not checked; nullopt if they are.
  [[nodiscard]] const std::optional<std::string>& why_not() const { return why_not_; }

  /// Checks a stored object, by its number in layout().outer_grid, and reports its problems.
  /// Retries a few times if the object changes during the check. Returns early if StopRequested().
  void Check(OuterIndex outer, VerifyReport& report) const;

 private:
  class Attempt;
  [[nodiscard]] const ChunkSource& source() const { return *array_->chunks; }
  [[nodiscard]] const ArrayLayout& layout() const { return source().layout(); }
  // Checks a chunk. Returns the number of bytes whose contents were checked, which is 0 if
  // why_not() has a value.
  [[nodiscard]] Result<uint64_t> CheckChunk(const ChunkLocation& location) const;
  // Verifies the crc32c that follows the innermost shard. If `first_of_object` is true, also
  // verifies the crc32c that follows the whole stored object.
  [[nodiscard]] Result<void> CheckShardChecksums(const OpenShard& innermost,
                                                 bool first_of_object) const;

  const NodePtr array_;
  std::optional<VlenChain> vlen_;
  std::optional<std::string> why_not_;
  bool has_checksum_ = false;  // true if chunks or shards contain a checksum
};

}  // namespace zarrfs::ctl
