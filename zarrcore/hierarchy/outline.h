// Outline: the properties of a node that a listing needs: its kind, the views that show it, and its
// folder. An Outline takes a few hundred bytes, a Node about ten thousand. Both are immutable
// snapshots.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>

#include "zarrcore/base/digest.h"
#include "zarrcore/base/mutex.h"
#include "zarrcore/hierarchy/node.h"

namespace zarrfs {

struct Outline : NodeSource {
  bool is_array = false;
  bool is_group = false;       // if is_array is also false, the documents cannot be used
  bool is_unreadable = false;  // see Node::unreadable()
  bool is_provisional = false;
  ViewSet hidden;      // the views that hide the node
  uint64_t shape = 0;  // see ShapeOf()
  MemoryBudget::Share memory;

  mutable Freshness freshness;  // set only by the cache that owns the outline
};
using OutlinePtr = std::shared_ptr<const Outline>;

/// A hash of the properties of a node that decide which names a mount shows, and of owners and
/// permissions. It does not change if only the content of documents changes.
[[nodiscard]] uint64_t ShapeOf(const Node& node);

/// Makes the outline of a node. The outline is valid while the node is.
[[nodiscard]] std::shared_ptr<Outline> OutlineOf(const Node& node);

/// Approximate memory of an outline, in bytes.
[[nodiscard]] size_t MemoryOf(const Outline& outline);

/// A table that maps the digest of a document (metadata/decisive.h) and the document's place in the
/// hierarchy to the views that show such a node, so listings need not parse the document.
/// Thread-safe.
class KnownKinds {
 public:
  /// Returns the key of a document in the table, computed from the document and the properties that
  /// its node inherits. nullopt if the document must be parsed.
  [[nodiscard]] static std::optional<Digest> KeyOf(std::string_view zarr_json,
                                                   std::string_view path,
                                                   const FromParent& from_parent);

  /// Fills in the properties of an outline that follow from a document with this key: its kind, the
  /// views that hide it, and its shape. False if the key is unknown.
  [[nodiscard]] bool Complete(const Digest& key, Outline& outline) const;
  /// Records the kind of `node` and the views that show it, for other documents with this key. Does
  /// nothing if the node is unusable, if something about it was reported, or if it is a group below
  /// an OME group.
  void Add(const Digest& key, const Node& node);

 private:
  struct Kind {
    bool is_array;
    bool below_ome;
    ViewSet hidden;
    uint64_t names;  // see ShapeOf()
  };
  static constexpr size_t kMaxKinds = 4096;

  mutable Mutex mutex_;
  std::unordered_map<Digest, Kind, DigestHash> kinds_ GUARDED_BY(mutex_);
};

}  // namespace zarrfs
