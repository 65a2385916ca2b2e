// Documents that are made from several nodes: consolidated metadata, and attributes that name
// dimensions as the node's siblings do.
#ifndef ZARRCORE_VIEW_MADE_DOCUMENTS_H_
#define ZARRCORE_VIEW_MADE_DOCUMENTS_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "zarrcore/base/digest.h"
#include "zarrcore/store/validity.h"
#include "zarrcore/view/made_texts.h"
#include "zarrcore/view/shared_dimensions.h"

namespace zarrfs {

/// What one view says in one document of a group and all nodes below it, as of now.
struct Consolidated : MadeDocument {
  // Of what it is made from: the group, and those nodes below that the view shows. (Digests,
  // because thousands of nodes would be kept in memory.)
  std::vector<Digest> nodes;
  bool is_too_large = false;       // more nodes than HierarchyOptions say: the view does without
  std::vector<std::string> paths;  // of the nodes in it

  mutable Freshness freshness;
};
using ConsolidatedPtr = std::shared_ptr<const Consolidated>;

/// What the dimensions of the arrays in the root group are called in one view, as of now.
struct RootDimensions {
  std::vector<ArrayDimensions> arrays;  // by name
  /// Absent where that cannot be known, or takes too long: each name carries its length.
  std::optional<SharedDimensions> names;
  Version newest;  // of what it is made from, the version that changed last

  mutable std::atomic<int64_t> take_ns = 0;  // that it took to make, or to look again
  mutable Freshness freshness;
};
using RootDimensionsPtr = std::shared_ptr<const RootDimensions>;

/// The document kSharedDocument of a node, as it is now.
struct SharedDocument : MadeDocument {
  Digest node_digest;            // of the documents of the node, and
  RootDimensionsPtr dimensions;  // what else it is made from
};
using SharedDocumentPtr = std::shared_ptr<const SharedDocument>;

/// Of two versions, the one that changed last.
inline void TakeLater(Version& newest, const Version& version) {
  if (version.ctime_ns >= newest.ctime_ns) newest = version;
}

}  // namespace zarrfs

#endif  // ZARRCORE_VIEW_MADE_DOCUMENTS_H_
