// Finds the folders that contain the virtual chunks of a commit. To make all these chunks readable,
// the option virtual= must name all these folders.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "zarrcore/base/result.h"
#include "zarrcore/icechunk/chunk_finder.h"
#include "zarrcore/icechunk/snapshot.h"
#include "zarrcore/icechunk/virtual_containers.h"
#include "zarrcore/icechunk/virtual_prefix.h"

namespace zarrfs {

/// Maximum number of references that are read, and maximum number of folders that are returned.
inline constexpr size_t kMaxVirtualReferences = 1'000'000;
inline constexpr size_t kMaxVirtualFolders = 64;

struct VirtualFolders {
  std::vector<VirtualPrefix> prefixes;  // in the order in which they were found
  // False if folders may be missing: a limit was reached, or a location was refused.
  bool is_all = true;
};

/// Collects the folders that contain virtual chunks. Not thread-safe.
class VirtualFolderSearch {
 public:
  void Add(std::string_view location);
  /// Records that a reference was refused or not examined. Its folder may not be in the result.
  void Miss() { found_.is_all = false; }
  [[nodiscard]] VirtualFolders Finish() && { return std::move(found_); }

 private:
  VirtualFolders found_;
  std::string latest_;
};

/// Finds the folders by reading the manifests of all arrays in `snapshot`. `containers`: the
/// virtual chunk containers of the repository. Returns the errors of IcechunkChunkFinder::Find().
[[nodiscard]] Result<VirtualFolders> FindVirtualFolders(IcechunkChunkFinder& finder,
                                                        const IcechunkContainers& containers,
                                                        const IcechunkSnapshot& snapshot);

}  // namespace zarrfs
