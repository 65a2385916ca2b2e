// Invalidation: finds the names in the kernel's cache that a change of the store affects.
//
// Names cached without a timeout are invalidated one by one. So all other names stay cached, and
// with them the pages of their files, because an inode loses its pages with its last name. Dropping
// a folder's name would not invalidate the names below it: names in use (open files, working
// folders) survive, and are valid again when the folder is looked up again.
#pragma once

#include <cstddef>
#include <string>

#include "fs/tree/nodes.h"
#include "zarrcore/store/store.h"

namespace zarrfs {

/// The maximum number of names to invalidate for one batch of changes. Invalidating this number of
/// names takes about one second.
inline constexpr size_t kMaxInvalidatedEntries = size_t{1} << 20;

/// Receives the names that may now lead to other files or folders.
class EntryInvalidator {
 public:
  virtual ~EntryInvalidator() = default;

  /// Called if the attributes of a folder may have changed. Returns false if the kernel knows
  /// neither the folder nor any name in it.
  virtual bool InvalidateFolder(NodeId folder) = 0;
  /// Called if a name in `folder` leads to another file or folder, was removed, or was added.
  virtual void DropEntry(NodeId folder, const std::string& name) = 0;
  /// Called if a name in `folder` may have been removed or added. If the name still exists, its
  /// inode is the same, and the cached pages of the inode stay.
  virtual void CheckEntry(NodeId folder, const std::string& name) = 0;
};

/// Passes each affected name to `invalidator`, possibly more than once. Returns false if there are
/// too many names, or they cannot be determined; the caller must then invalidate every name. May
/// read the store, to load nodes that changed or were evicted. Only one thread may call this
/// function at a time.
[[nodiscard]] bool FindInvalidEntries(Nodes& nodes, const Changes& changes,
                                      EntryInvalidator& invalidator);

}  // namespace zarrfs
