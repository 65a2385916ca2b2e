// Which folders of a store are nodes: by their names, and by what lies below them.
#ifndef ZARRCORE_VIEW_NODE_FOLDERS_H_
#define ZARRCORE_VIEW_NODE_FOLDERS_H_

#include <string>
#include <string_view>

#include "zarrcore/base/result.h"
#include "zarrcore/store/store.h"
#include "zarrcore/view/node.h"

namespace zarrfs {

/// Whether a folder of this name may be a node: core specification, "Node names". Names that begin
/// with "__" are reserved, and written all the same (by xarray, by AnnData): they are nodes to
/// every reader.
[[nodiscard]] bool IsNodeName(std::string_view name);
/// The same below `group`: a v2 group has names for itself.
[[nodiscard]] bool IsNodeNameBelow(const Node& group, std::string_view name);

/// Whether a folder without a document of its own is a group, because some folder below it has one.
/// Looks at some thousands of folders at most. An error if none was found and not all could be
/// read.
[[nodiscard]] Result<bool> HasNodeBelow(const Store& store, const std::string& folder);
/// The same if the folder may also have a document itself.
[[nodiscard]] Result<bool> HasNodeInOrBelow(const Store& store, const std::string& folder);

}  // namespace zarrfs

#endif  // ZARRCORE_VIEW_NODE_FOLDERS_H_
