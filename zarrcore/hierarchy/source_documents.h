// What makes a folder of the store a node: its name, and a document in it, which is a zarr.json,
// else a .zarray (a Zarr v2 array) or a .zgroup (a v2 group), whose attributes are in .zattrs. A
// folder without a document is a group if there is a node below it.
#pragma once

#include <string>
#include <string_view>

#include "zarrcore/base/result.h"
#include "zarrcore/hierarchy/node.h"
#include "zarrcore/metadata/metadata.h"
#include "zarrcore/store/store.h"

namespace zarrfs {

/// What the documents of the folder `node.path` say. Sets what a Node holds of the documents
/// themselves (`document`, `sources`, `info`, `attributes_mode`, `racy`).
/// kNotFound if the folder has no document that makes it a node. See IsVerdict() for other errors.
[[nodiscard]] Result<NodeMetadata> ReadMetadata(const Store& store, Node& node);

/// Whether the store still has what the node was made from.
[[nodiscard]] Result<bool> IsCurrent(const Store& store, const Node& node);

/// Whether an error is a fact about a document, not about reading it.
[[nodiscard]] inline bool IsVerdict(ErrorCode code) {
  return code == ErrorCode::kDamaged || code == ErrorCode::kUnsupported ||
         code == ErrorCode::kTooLarge;
}

/// Whether a folder of this name may be a node: core specification, "Node names". Names that begin
/// with "__" are reserved, and written all the same (by xarray, by AnnData): they are nodes to
/// every reader.
[[nodiscard]] bool IsNodeName(std::string_view name);
/// The same below `group`: a v2 group has names for itself.
[[nodiscard]] bool IsNodeNameBelow(const Node& group, std::string_view name);

/// The same below an array: the array's chunks have names of their own, in the store and in views.
/// Such nodes are found by their paths, and not listed.
[[nodiscard]] bool IsNodeNameBelowArray(std::string_view name);

/// Whether a file of this name may be shown beside the nodes of an OME group.
[[nodiscard]] bool IsFileName(std::string_view name);

/// Whether a folder without a document of its own is a group, because some folder below it has one.
/// Looks at some thousands of folders at most: false if none was found among them. An error if none
/// was found and one could not be read. `or_in`: the folder may also have a document itself.
[[nodiscard]] Result<bool> HasNodeBelow(const Store& store, const std::string& folder,
                                        bool or_in = false);

}  // namespace zarrfs
