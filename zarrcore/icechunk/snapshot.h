// IcechunkSnapshot: the nodes of one commit, with the document of each and, for arrays, which
// manifest has the references of which chunks.
#pragma once

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

/// The name of a node's document.
inline constexpr std::string_view kIcechunkDocument = "zarr.json";

/// Arrays of more dimensions have no chunks here; zarrfs shows none of them.
inline constexpr size_t kIcechunkMaxRank = 32;

/// Chunk coordinates along one axis: from `begin` up to, without, `end`.
struct IcechunkInterval {
  uint32_t begin = 0;
  uint32_t end = 0;
};

/// The references of all chunks in this box are in one manifest. Boxes of an array do not overlap.
struct IcechunkBox {
  IcechunkId manifest{};
  std::span<const IcechunkInterval> extents;  // one for each axis

  /// Whether a chunk whose coordinates begin with `prefix` may be in it.
  [[nodiscard]] bool MayHave(std::span<const uint32_t> prefix) const;
};

struct IcechunkNode {
  std::string_view path;      // "a/b"; "" is the root
  std::string_view document;  // zarr.json
  IcechunkNodeId id{};
  bool is_array = false;
  size_t rank = 0;
  std::span<const IcechunkBox> boxes;
};

/// Immutable.
class IcechunkSnapshot {
 public:
  /// `file` is the content of snapshots/`id`. kDamaged if it is another snapshot, or breaks the
  /// format.
  [[nodiscard]] static Result<std::shared_ptr<const IcechunkSnapshot>> Parse(IcechunkFile file,
                                                                             const IcechunkId& id);

  [[nodiscard]] const IcechunkId& id() const { return id_; }
  /// nullopt for the first one, and in repositories of version 2.
  [[nodiscard]] const std::optional<IcechunkId>& parent() const { return parent_; }
  [[nodiscard]] int64_t time_ns() const { return time_ns_; }  // since 1970
  [[nodiscard]] std::string_view message() const { return message_; }
  /// The file that it was read from.
  [[nodiscard]] const ObjectInfo& info() const { return file_.info; }

  /// The node at `path`, or null.
  [[nodiscard]] const IcechunkNode* Find(std::string_view path) const;
  /// Whether a node lies below `path`.
  [[nodiscard]] bool HasBelow(std::string_view path) const;
  /// All nodes except the root, so sorted that those below a node follow it.
  [[nodiscard]] std::span<const IcechunkNode> nodes() const { return nodes_; }
  /// Number of the first node whose path and a slash are `text` or come after it.
  [[nodiscard]] size_t LowerBound(std::string_view text) const;

 private:
  struct Counts;
  Result<void> Add(const IcechunkFile& file);
  Result<void> CheckNodes() const;

  IcechunkFile file_;
  MemoryBudget::Share memory_;  // of what follows
  IcechunkId id_{};
  std::optional<IcechunkId> parent_;
  int64_t time_ns_ = 0;
  std::string_view message_;
  std::optional<IcechunkNode> root_;
  std::vector<IcechunkNode> nodes_;
  std::vector<IcechunkBox> boxes_;
  std::vector<IcechunkInterval> extents_;
};

}  // namespace zarrfs
