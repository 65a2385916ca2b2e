// Whether the stored objects of an array are sound: every entry of their indexes and every chunk.
// Chunks are read, and decoded or, where elements have each a length of their own, checked for
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

/// For all objects of one array. Thread-safe.
class ObjectCheck {
 public:
  /// `array`: node->chunks is not null.
  explicit ObjectCheck(NodePtr array);

  /// Why chunk contents are not checked; nullopt if they are.
  [[nodiscard]] const std::optional<std::string>& why_not() const { return why_not_; }

  /// Checks a stored object, by its number in layout().outer_grid, and reports its problems. Starts
  /// again a few times if the object changes during the check. Ends early once StopRequested().
  void Check(OuterIndex outer, VerifyReport& report) const;

 private:
  class Attempt;
  [[nodiscard]] const ChunkSource& source() const { return *array_->chunks; }
  [[nodiscard]] const ArrayLayout& layout() const { return source().layout(); }
  // The number of bytes read and checked: 0 if why_not() has a value.
  [[nodiscard]] Result<uint64_t> CheckChunk(const ChunkLocation& location) const;
  // The crc32c after the stored object (if `first_of_object`) and after the innermost shard.
  [[nodiscard]] Result<void> CheckShardChecksums(const OpenShard& innermost,
                                                 bool first_of_object) const;

  const NodePtr array_;
  std::optional<VlenChain> vlen_;
  std::optional<std::string> why_not_;
  bool has_checksum_ = false;  // a wrong byte in a chunk is always detected
};

}  // namespace zarrfs::ctl
