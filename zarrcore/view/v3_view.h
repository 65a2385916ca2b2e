// The v3 view: the store without sharding.
#pragma once

#include "zarrcore/view/view.h"

namespace zarrfs {

/// The v3 view. It rewrites every zarr.json unless the stored document is equivalent. chunk_grid
/// has the innermost chunk shape, and codecs the innermost chain, including transposes before a
/// sharding codec, in the spelling of the core specification 3.1. The stored consolidated_metadata
/// describes the sharded arrays, so it is replaced. Attributes and dimension names stay.
[[nodiscard]] const View& V3View();

}  // namespace zarrfs
