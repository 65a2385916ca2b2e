// In what two commits of an Icechunk repository differ.
#pragma once

#include "zarrcore/icechunk/chunk_finder.h"
#include "zarrcore/icechunk/snapshot.h"
#include "zarrcore/store/store.h"

namespace zarrfs {

/// The keys of chunks that are others, or absent in one of the two. `all` if documents or nodes
/// differ, too, or so many chunks that looking at each would take long. Reads manifests, which
/// `finder` keeps.
[[nodiscard]] Changes FindIcechunkChanges(IcechunkChunkFinder& finder,
                                          const IcechunkSnapshot& before,
                                          const IcechunkSnapshot& next);

}  // namespace zarrfs
