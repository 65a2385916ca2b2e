// Which folders of the store are nodes: by their name, and by a document in them: a zarr.json, else
// a .zarray (a Zarr v2 array) or a .zgroup (a v2 group), whose attributes are in .zattrs. A folder
// without a document is a group if there is a node below it.
#pragma once

#include <string>
#include <string_view>

#include "zarrcore/base/result.h"
#include "zarrcore/hierarchy/node.h"
#include "zarrcore/metadata/metadata.h"
#include "zarrcore/store/store.h"

namespace zarrfs {

/// Reads the documents of the folder `node.path`. Sets the members of Node that describe the
/// documents (`document`, `sources`, `info`, `attributes_mode`, `racy`). kNotFound if no document
/// in the folder makes it a node. See IsVerdict() for other errors.
[[nodiscard]] Result<NodeMetadata> ReadMetadata(const Store& store, Node& node);

/// Whether the documents of the node are unchanged in the store.
[[nodiscard]] Result<bool> IsCurrent(const Store& store, const Node& node);

/// Whether an error is a fact about a document, not about reading it.
[[nodiscard]] inline bool IsVerdict(ErrorCode code) {
  return code == ErrorCode::kDamaged || code == ErrorCode::kUnsupported ||
         code == ErrorCode::kTooLarge;
}

/// Whether a folder of this name may be a node: core specification, "Node names". Names that begin
/// with "__" are reserved, but written nevertheless (by xarray, by AnnData): every reader treats
/// them as nodes.
[[nodiscard]] bool IsNodeName(std::string_view name);
/// Likewise below `group`: a v2 group reserves names for itself.
[[nodiscard]] bool IsNodeNameBelow(const Node& group, std::string_view name);

/// Likewise below an array, whose chunks have names of their own, in the store and in views. Such
/// nodes are found by path, but not listed.
[[nodiscard]] bool IsNodeNameBelowArray(std::string_view name);

/// Whether a file of this name may be shown next to the nodes of an OME group.
[[nodiscard]] bool IsFileName(std::string_view name);

/// Whether a folder without a document of its own is a group, because a folder below it has one.
/// Searches at most some thousands of folders: false if none was found among them. An error if none
/// was found and one could not be read. `or_in`: the folder's own document counts, too.
[[nodiscard]] Result<bool> HasNodeBelow(const Store& store, const std::string& folder,
                                        bool or_in = false);

}  // namespace zarrfs
