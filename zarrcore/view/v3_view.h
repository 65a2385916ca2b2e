// The v3 view: the store without sharding.
#pragma once

#include "zarrcore/view/view.h"

namespace zarrfs {

/// Every zarr.json is rewritten, unless the stored one is equivalent: chunk_grid has the innermost
/// chunk shape, codecs the innermost chain (including transposes before a sharding codec), in the
/// spelling of the core specification 3.1. The stored consolidated_metadata describes the sharded
/// arrays; it is replaced by one that describes the view. Attributes and dimension names stay.
[[nodiscard]] const View& V3View();

}  // namespace zarrfs
