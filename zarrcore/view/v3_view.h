// The v3 view: the store as it is, unsharded.
#pragma once

#include "zarrcore/view/view.h"

namespace zarrfs {

/// Every zarr.json is rewritten, unless the stored one means the same: chunk_grid has the innermost
/// chunk shape, codecs the innermost chain (with the transposes that stood before a sharding
/// codec), spellings are those of the core specification 3.1. The stored consolidated_metadata is
/// dropped, because it describes the sharded arrays, and made again for what the view shows.
/// Attributes and dimension names stay.
[[nodiscard]] const View& V3View();

}  // namespace zarrfs
