// Whether one chunk of an array is sound: it is read, and decoded or, where elements have each a
// length of their own, checked for structure.
#ifndef TOOLS_ZARRCTL_CHUNK_CHECK_H_
#define TOOLS_ZARRCTL_CHUNK_CHECK_H_

#include <cstdint>
#include <optional>
#include <string>

#include "zarrcore/array/chunk_source.h"
#include "zarrcore/base/result.h"
#include "zarrcore/codec/vlen.h"
#include "zarrcore/view/hierarchy.h"

namespace zarrfs::ctl {

/// For all chunks of one array. Thread-safe.
class ChunkCheck {
 public:
  /// `array`: node->chunks is not null.
  explicit ChunkCheck(NodePtr array);

  [[nodiscard]] const Node& array() const { return *array_; }

  /// Why what chunks hold is not checked; nullopt: it is.
  [[nodiscard]] const std::optional<std::string>& why_not() const { return why_not_; }

  /// The bytes that were read and checked: none where why_not() says so.
  [[nodiscard]] Result<uint64_t> Check(const ChunkLocation& location) const;

  /// The crc32c after the stored object (if `first_of_object`) and after the innermost shard.
  [[nodiscard]] Result<void> CheckShardChecksums(const OpenShard& innermost,
                                                 bool first_of_object) const;

 private:
  [[nodiscard]] const ArrayLayout& layout() const { return array_->chunks->layout(); }

  const NodePtr array_;
  std::optional<VlenChain> vlen_;
  std::optional<std::string> why_not_;
};

}  // namespace zarrfs::ctl

#endif  // TOOLS_ZARRCTL_CHUNK_CHECK_H_
