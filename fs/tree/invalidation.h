// Invalidation: which names that the kernel may have cached a change of the store concerns.
#ifndef FS_TREE_INVALIDATION_H_
#define FS_TREE_INVALIDATION_H_

#include <cstddef>
#include <functional>
#include <string>

#include "fs/tree/nodes.h"
#include "zarrcore/store/store.h"

namespace zarrfs {

/// Not more names than these are invalidated for one batch of changes; the others expire.
inline constexpr size_t kMaxInvalidatedEntries = size_t{1} << 17;

/// A name in a folder of the mount.
using InvalidateEntry = std::function<void(NodeId folder, const std::string& name)>;

/// Calls `invalidate` for each such name; for some of them twice. May read the store, to load nodes
/// that changed or were evicted. Thread-safe.
void FindInvalidEntries(Nodes& nodes, const Changes& changes, const InvalidateEntry& invalidate);

}  // namespace zarrfs

#endif  // FS_TREE_INVALIDATION_H_
