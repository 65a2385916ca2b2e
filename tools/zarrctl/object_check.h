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

  /// Why what chunks hold is not checked; nullopt: it is.
  [[nodiscard]] const std::optional<std::string>& why_not() const { return why_not_; }

  /// Checks a stored object, by its number in layout().outer_grid, and reports what is wrong with
  /// it. Starts again a few times if the object changes meanwhile. Ends early once StopRequested().
  void Check(OuterIndex outer, VerifyReport& report) const;

 private:
  class Attempt;
  [[nodiscard]] const ChunkSource& source() const { return *array_->chunks; }
  [[nodiscard]] const ArrayLayout& layout() const { return source().layout(); }
  // The bytes that were read and checked: none where why_not() says so.
  [[nodiscard]] Result<uint64_t> CheckChunk(const ChunkLocation& location) const;
  // The crc32c after the stored object (if `first_of_object`) and after the innermost shard.
  [[nodiscard]] Result<void> CheckShardChecksums(const OpenShard& innermost,
                                                 bool first_of_object) const;

  const NodePtr array_;
  std::optional<VlenChain> vlen_;
  std::optional<std::string> why_not_;
  bool has_checksum_ = false;  // a wrong byte in a chunk is found for sure
};

}  // namespace zarrfs::ctl
