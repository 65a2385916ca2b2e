// Finds the differences between two commits of an Icechunk repository.
#pragma once

#include "zarrcore/icechunk/chunk_finder.h"
#include "zarrcore/icechunk/snapshot.h"
#include "zarrcore/store/store.h"

namespace zarrfs {

/// Returns the keys of the chunks that differ, or that only one of the commits has. Sets
/// Changes::all if documents or nodes differ, or if too many chunks may differ to compare them
/// quickly. Reads manifests, which `finder` caches.
[[nodiscard]] Changes FindIcechunkChanges(IcechunkChunkFinder& finder,
                                          const IcechunkSnapshot& before,
                                          const IcechunkSnapshot& next);

}  // namespace zarrfs
