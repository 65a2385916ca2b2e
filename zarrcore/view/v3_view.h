// The v3 view: shows a store to readers of Zarr v3 that lack sharding.
#pragma once

#include "zarrcore/view/view.h"

namespace zarrfs {

/// The v3 view. It rewrites every zarr.json unless the stored document is equivalent. In an array's
/// zarr.json, chunk_grid has the shape of the innermost chunks, and codecs has the codecs of these
/// chunks, including transposes before a sharding codec, in the spelling of the core specification
/// 3.1. The stored consolidated_metadata describes the sharded arrays, so it is replaced.
/// Attributes and dimension names stay.
[[nodiscard]] const View& V3View();

}  // namespace zarrfs
