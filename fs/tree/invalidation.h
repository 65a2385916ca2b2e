// Invalidation: which names that the kernel may have cached a change of the store concerns.
//
// Names cached without a timeout are invalidated one by one, so that whatever else is cached stays,
// and with it the pages of files: an inode whose last name goes loses its pages. Dropping a
// folder's name would not do for what is below it: names in use (open files, working folders)
// survive that, and come back with the folder.
#pragma once

#include <cstddef>
#include <string>

#include "fs/tree/nodes.h"
#include "zarrcore/store/store.h"

namespace zarrfs {

/// No more names than these are invalidated for one batch of changes: about a second's worth.
inline constexpr size_t kMaxInvalidatedEntries = size_t{1} << 20;

/// Takes the names that may mean something else now.
class EntryInvalidator {
 public:
  virtual ~EntryInvalidator() = default;

  /// The attributes of a folder may have changed. False if the kernel knows neither it nor any name
  /// in it.
  virtual bool InvalidateFolder(NodeId folder) = 0;
  /// A name in it means something else, or nothing, or something at last.
  virtual void DropEntry(NodeId folder, const std::string& name) = 0;
  /// The name may be gone or be there at last, but what it means keeps its id, and its pages stay.
  virtual void CheckEntry(NodeId folder, const std::string& name) = 0;
};

/// Gives each such name to `invalidator`, some of them twice. False if they are too many, or cannot
/// be named: then every name is invalid. May read the store, to load nodes that changed or were
/// evicted. For one thread at a time.
[[nodiscard]] bool FindInvalidEntries(Nodes& nodes, const Changes& changes,
                                      EntryInvalidator& invalidator);

}  // namespace zarrfs
