// The npy view: each array as one file in numpy's format .npy, for readers without Zarr support:
// np.load(mmap_mode='r'), MATLAB, Julia, C.
//
// numpy.lib.format: a header padded to a multiple of 64 bytes, then the elements in C order,
// little-endian. Groups are folders.
#pragma once

#include "zarrcore/view/view.h"

namespace zarrfs {

/// Number types that numpy lacks (bfloat16, float8_*, int4) are widened (codec/widen.h). Not shown:
/// arrays whose elements have individual lengths, or whose size overflows.
[[nodiscard]] const View& NpyView();

}  // namespace zarrfs
