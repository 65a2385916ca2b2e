// Reads the documents that make a folder of the store a node: a zarr.json or, without one, a
// .zarray (a v2 array) or a .zgroup (a v2 group), with the attributes in .zattrs. A folder without
// a document is a group if a node exists below it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "zarrcore/base/result.h"
#include "zarrcore/hierarchy/node.h"
#include "zarrcore/metadata/metadata.h"
#include "zarrcore/store/store.h"

namespace zarrfs {

/// Reads the documents of the folder `node.path`. Sets the members of Node that describe the
/// documents: `document`, `sources`, `info`, `attributes_mode` and `racy`. kNotFound if no document
/// in the folder makes it a node. For the meaning of other errors see IsVerdict().
[[nodiscard]] Result<NodeMetadata> ReadMetadata(const Store& store, Node& node);

/// True if the node's documents are unchanged in the store.
[[nodiscard]] Result<bool> IsCurrent(const Store& store, const NodeSource& node);

/// Reads the zarr.json of the folder `node.path` without parsing it, and sets the same members of
/// Node as ReadMetadata(). nullopt if the file does not exist.
[[nodiscard]] Result<std::optional<std::string>> ReadZarrJson(const Store& store, Node& node);

/// True if an error is about the content of a document, and not about a failure to read it.
[[nodiscard]] inline bool IsVerdict(ErrorCode code) {
  return code == ErrorCode::kDamaged || code == ErrorCode::kUnsupported ||
         code == ErrorCode::kTooLarge;
}

/// True if a folder of this name may be a node: core specification, "Node names". The specification
/// reserves names that begin with "__", but xarray and AnnData write such names, and all readers
/// treat them as nodes.
[[nodiscard]] bool IsNodeName(std::string_view name);
/// True for the names of Zarr v2's documents, which readers look up in any group. A folder with
/// such a name is a node only if it has a zarr.json.
[[nodiscard]] bool IsNameOfV2Document(std::string_view name);
/// True if a folder of this name may be a node below `group`. A v2 group reserves names that begin
/// with ".z".
[[nodiscard]] bool IsNodeNameBelow(const Node& group, std::string_view name);

/// True if a folder of this name may be a node below an array. Names of chunks in the store or in a
/// view are excluded. Nodes below an array are found by path, but not listed.
[[nodiscard]] bool IsNodeNameBelowArray(std::string_view name);

/// True if a file with this name may be shown in the folder of an OME group.
[[nodiscard]] bool IsFileName(std::string_view name);

/// True if a folder without a document is a group because a folder below it has a document.
/// Searches at most a few thousand folders, and returns false if none of them has a document. Fails
/// if none was found and a folder could not be read. `or_in`: also accepts a document in the folder
/// itself.
[[nodiscard]] Result<bool> HasNodeBelow(const Store& store, const std::string& folder,
                                        bool or_in = false);

}  // namespace zarrfs
