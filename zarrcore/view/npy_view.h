// The npy view: each array as one file of numpy's format .npy, for readers that know nothing of
// Zarr: np.load(mmap_mode='r'), MATLAB, Julia, C.
//
// numpy.lib.format: a header that ends on a multiple of 64 bytes, then the elements in C order,
// little-endian. Groups are folders.
#pragma once

#include "zarrcore/view/view.h"

namespace zarrfs {

/// Numbers that numpy lacks (bfloat16, float8_*, int4) are widened (codec/widen.h). Not shown:
/// arrays whose elements have each a length of their own, and those whose size overflows.
[[nodiscard]] const View& NpyView();

}  // namespace zarrfs
