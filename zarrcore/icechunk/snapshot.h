// IcechunkSnapshot: the nodes of one commit, with their documents. An array also has the manifests
// that contain the references of its chunks.
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

/// Maximum number of dimensions of arrays with chunks. zarrfs hides arrays with more dimensions.
inline constexpr size_t kIcechunkMaxRank = 32;

/// An interval of chunk coordinates along one axis: [begin, end).
struct IcechunkInterval {
  uint32_t begin = 0;
  uint32_t end = 0;
};

/// A box of chunks whose references are in one manifest. Boxes of an array do not overlap.
struct IcechunkBox {
  IcechunkId manifest{};
  std::span<const IcechunkInterval> extents;  // one interval per axis

  /// True if a chunk whose coordinates begin with `prefix` may be in the box.
  [[nodiscard]] bool MayHave(std::span<const uint32_t> prefix) const;
};

struct IcechunkNode {
  std::string_view path;      // such as "a/b"; "" is the root
  std::string_view document;  // the contents of the node's zarr.json
  IcechunkNodeId id{};
  bool is_array = false;
  size_t rank = 0;
  std::span<const IcechunkBox> boxes;
};

/// The nodes of one commit. Immutable.
class IcechunkSnapshot {
 public:
  /// Parses `file`, the content of snapshots/`id`. kDamaged if `file` is another snapshot, or
  /// violates the format.
  [[nodiscard]] static Result<std::shared_ptr<const IcechunkSnapshot>> Parse(IcechunkFile file,
                                                                             const IcechunkId& id);

  [[nodiscard]] const IcechunkId& id() const { return id_; }
  /// The previous snapshot; nullopt for the first snapshot, and in repositories of version 2.
  [[nodiscard]] const std::optional<IcechunkId>& parent() const { return parent_; }
  [[nodiscard]] int64_t time_ns() const { return time_ns_; }  // nanoseconds since 1970
  [[nodiscard]] std::string_view message() const { return message_; }
  /// The attributes of the snapshot's file.
  [[nodiscard]] const ObjectInfo& info() const { return file_.info; }

  [[nodiscard]] uint64_t bytes_in_memory() const {
    return file_.content.capacity() + memory_.bytes();
  }

  /// The node at `path`; null if it does not exist.
  [[nodiscard]] const IcechunkNode* Find(std::string_view path) const;
  /// True if a node is below `path`.
  [[nodiscard]] bool HasBelow(std::string_view path) const;
  /// All nodes except the root, sorted. The nodes below a node directly follow that node.
  [[nodiscard]] std::span<const IcechunkNode> nodes() const { return nodes_; }
  /// The index of the first node whose path, with a final slash, does not sort before `text`.
  [[nodiscard]] size_t LowerBound(std::string_view text) const;

 private:
  struct Counts;
  Result<void> Add(const IcechunkFile& file);
  Result<void> CheckNodes() const;

  IcechunkFile file_;
  MemoryBudget::Share memory_;  // the memory for the members below
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
