// SharedDocuments: the attributes of arrays whose dimension names or coordinate system depend on
// other nodes. Thread-safe. Calls may wait for the store, like those of Hierarchy.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "zarrcore/base/mutex.h"
#include "zarrcore/base/result.h"
#include "zarrcore/hierarchy/hierarchy.h"
#include "zarrcore/hierarchy/made_documents.h"
#include "zarrcore/store/revalidating_cache.h"
#include "zarrcore/store/validity.h"
#include "zarrcore/view/shared_dimensions.h"

namespace zarrfs {

/// The dimension names of all arrays in the root group, in one view.
struct RootDimensions {
  std::vector<ArrayDimensions> arrays;  // sorted by name
  /// The names that the view gives to the arrays' dimensions. Absent if a node cannot be read or
  /// too many nodes exist; every dimension name then includes the dimension's length.
  std::optional<SharedDimensions> names;
  Version newest;  // the version of the source document that changed last

  mutable std::atomic<int64_t> take_ns = 0;  // the duration of the last creation or revalidation
  mutable Freshness freshness;
};
using RootDimensionsPtr = std::shared_ptr<const RootDimensions>;

/// The paths of arrays whose attributes were made with attributes of other nodes. The kernel may
/// cache the names of these arrays' files until one of the other nodes changes. Thread-safe.
class PlacedArrays {
 public:
  /// Adds an array. False if the table is full and the array was not added.
  [[nodiscard]] bool Note(const std::string& path);
  [[nodiscard]] std::vector<std::string> Below(std::string_view folder) const;

 private:
  static constexpr size_t kMaxPaths = 4096;
  mutable Mutex mutex_;
  std::set<std::string, std::less<>> paths_ GUARDED_BY(mutex_);
};

class SharedDocuments {
 public:
  /// `texts` caches the bytes of the documents. Both arguments must outlive this object.
  SharedDocuments(const Hierarchy& hierarchy, MadeTexts& texts);

  /// True if document number `document` of the node at `path` depends on other nodes: its siblings,
  /// or nodes in the groups above it.
  [[nodiscard]] static bool DependsOnSiblings(std::string_view path, size_t view, size_t document);
  /// The current version of a document for which DependsOnSiblings() is true. If the view shares
  /// dimensions and a sibling cannot be read, every dimension name includes the dimension's length.
  /// If the view places arrays (View::places_arrays), fails if a node that may name the coordinate
  /// system cannot be read. Stores the document's bytes in `text` unless it is null.
  [[nodiscard]] Result<Valid<MadeDocument>> Get(const NodePtr& node, size_t view, Age max_age,
                                                MadeTexts::Text* text = nullptr) const;
  /// The bytes of version `text_number` of a document that Get() made. kStale if the document has
  /// changed.
  [[nodiscard]] Result<MadeTexts::Text> Text(const NodePtr& node, size_t view,
                                             uint64_t text_number) const;
  /// The cached dimension names of the arrays in the root group, or null. Makes no requests to the
  /// store.
  [[nodiscard]] RootDimensionsPtr KnownDimensions(size_t view) const;
  /// The arrays below the group at `folder` for which Get() was called in a view that adds
  /// coordinate systems to arrays (View::places_arrays). Makes no requests to the store.
  [[nodiscard]] std::vector<std::string> KnownPlaced(std::string_view folder) const {
    return placed_.Below(folder);
  }

 private:
  using DimensionsCache = RevalidatingCache<size_t, RootDimensions>;
  // The common validity of all nodes on which a document depends, and the latest version of the
  // nodes from which it was made.
  using Sources = Valid<MadeDocument>;

  // --- Dimensions: shared_documents.cc ---

  [[nodiscard]] Result<Valid<MadeDocument>> ShareDimensions(const NodePtr& node, size_t view,
                                                            Age max_age,
                                                            MadeTexts::Text* text) const;
  [[nodiscard]] Result<RootDimensionsPtr> DimensionsOfRoot(size_t view, Age max_age) const;
  // Finds the dimension names of the arrays in the root group; returns `known` (may be null) if
  // nothing has changed.
  [[nodiscard]] Result<Valid<DimensionsCache::Loaded>> MakeDimensions(
      size_t view, Age max_age, const RootDimensionsPtr& known) const;
  // Fills `made` with the dimension names of the arrays in the root group. Returns their validity.
  [[nodiscard]] Result<Validity> FindRootDimensions(size_t view, Age max_age,
                                                    RootDimensions& made) const;
  // Returns the elements of `names` that arrays in or below `groups` use as dimension names with
  // lengths (NameWithLength()). kTooLarge if more than `budget` nodes are below the groups.
  [[nodiscard]] Result<Valid<std::set<std::string>>> NamesBelow(
      const std::vector<std::string>& groups, const std::set<std::string>& names, size_t view,
      Age max_age, size_t budget) const;

  // --- Coordinate systems: placed_documents.cc ---

  [[nodiscard]] Result<Valid<MadeDocument>> PlaceArray(const NodePtr& node, size_t view,
                                                       Age max_age, MadeTexts::Text* text) const;
  // The coordinate system of `array` as a value of _CRS, from the variable that `grid_mapping`
  // names or from a group above the array. Null if neither the variable nor a group declares a
  // coordinate system. If other users may access the mount, skips nodes with stricter permissions
  // than the array.
  [[nodiscard]] Result<Json> CrsFromAbove(const Node& array, Age max_age, Sources& sources) const;
  [[nodiscard]] Result<Json> CrsOfGridMapping(const Node& array, Age max_age,
                                              Sources& sources) const;
  [[nodiscard]] Result<Json> CrsOfGroups(const Node& array, Age max_age, Sources& sources) const;
  // The dimension names of an array that is one of several resolutions in its group. Null for other
  // arrays. A name includes the length of the dimension unless the group has a coordinate for it.
  [[nodiscard]] Result<Json> NamesInPyramid(const Node& array, Age max_age, Sources& sources) const;
  // The node at `path`. Null if the node does not exist, may not be read, or has unusable
  // documents. Adds the validity of this answer to `sources`.
  [[nodiscard]] Result<NodePtr> SourceAt(const std::string& path, Age max_age,
                                         Sources& sources) const;
  [[nodiscard]] bool MayRepeat(const Node& source, const Node& array) const;

  const Hierarchy& hierarchy_;
  MadeTexts& texts_;
  mutable DimensionsCache dimensions_;  // keyed by view
  mutable PlacedArrays placed_;
};

}  // namespace zarrfs
