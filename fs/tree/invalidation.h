// Invalidation: finds the names in the kernel's cache that a change of the store affects.
//
// Names cached without a timeout are invalidated one by one, so that all other names stay cached,
// and with them the pages of files: an inode loses its pages with its last name. Dropping a
// folder's name would not invalidate the names below it: those in use (open files, working folders)
// survive it, and come back with the folder.
#pragma once

#include <cstddef>
#include <string>

#include "fs/tree/nodes.h"
#include "zarrcore/store/store.h"

namespace zarrfs {

/// Maximum number of names invalidated for one batch of changes: about one second of work.
inline constexpr size_t kMaxInvalidatedEntries = size_t{1} << 20;

/// Receives the names whose meaning may have changed.
class EntryInvalidator {
 public:
  virtual ~EntryInvalidator() = default;

  /// The attributes of a folder may have changed. False if the kernel knows neither it nor any name
  /// in it.
  virtual bool InvalidateFolder(NodeId folder) = 0;
  /// A name in it has another meaning, was removed, or was added.
  virtual void DropEntry(NodeId folder, const std::string& name) = 0;
  /// The name may have been removed or added, but its meaning keeps its id, and its pages stay.
  virtual void CheckEntry(NodeId folder, const std::string& name) = 0;
};

/// Passes each such name to `invalidator`, some of them twice. False if they are too many, or
/// unknown: then every name must be invalidated. May read the store, to load nodes that changed or
/// were evicted. For one thread at a time.
[[nodiscard]] bool FindInvalidEntries(Nodes& nodes, const Changes& changes,
                                      EntryInvalidator& invalidator);

}  // namespace zarrfs
