// The v2 view: .zgroup, .zarray, .zattrs, and chunk files named by the grid alone.
#ifndef ZARRCORE_VIEW_V2_VIEW_H_
#define ZARRCORE_VIEW_V2_VIEW_H_

#include "zarrcore/view/view.h"

namespace zarrfs {

/// Shows what v2 can express without changing a chunk's bytes: core data types, transposes that are
/// C or F order, one compressor that v2 readers know (gzip, zlib, zstd, blosc, lz4, bz2, lzma),
/// checksums at either end cut off. fill_value is the v3 fill value. _ARRAY_DIMENSIONS in .zattrs
/// are the dimension names, made up where there are none. JSON is pure ASCII: old readers decode it
/// so.
[[nodiscard]] const View& V2View();

}  // namespace zarrfs

#endif  // ZARRCORE_VIEW_V2_VIEW_H_
