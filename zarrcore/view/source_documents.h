// Reads the documents that make a folder a node: a zarr.json, else a .zarray (a Zarr v2 array) or a
// .zgroup (a v2 group), whose attributes are in .zattrs.
#ifndef ZARRCORE_VIEW_SOURCE_DOCUMENTS_H_
#define ZARRCORE_VIEW_SOURCE_DOCUMENTS_H_

#include "zarrcore/base/result.h"
#include "zarrcore/metadata/metadata.h"
#include "zarrcore/store/store.h"
#include "zarrcore/view/node.h"

namespace zarrfs {

/// What the documents of the folder `node.path` say. Sets what a Node holds of the documents
/// themselves (`document`, `sources`, `source_bytes`, `info`, `attributes_mode`, `racy`).
/// kNotFound if the folder has no document that makes it a node. See IsVerdict() for other errors.
[[nodiscard]] Result<NodeMetadata> ReadMetadata(const Store& store, Node& node);

/// Whether the store still has what the node was made from.
[[nodiscard]] Result<bool> IsCurrent(const Store& store, const Node& node);

/// Whether an error is a fact about a document, not about reading it.
[[nodiscard]] inline bool IsVerdict(ErrorCode code) {
  return code == ErrorCode::kDamaged || code == ErrorCode::kUnsupported ||
         code == ErrorCode::kTooLarge;
}

}  // namespace zarrfs

#endif  // ZARRCORE_VIEW_SOURCE_DOCUMENTS_H_
