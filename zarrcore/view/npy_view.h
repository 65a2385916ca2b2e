// The npy view: each array as one file in numpy's format .npy, for readers without Zarr support,
// such as np.load(mmap_mode='r'), MATLAB, Julia and C programs. Groups are folders.
//
// A file has a header, padded to a multiple of 64 bytes, and then the elements, in C order and
// little-endian. See numpy.lib.format.
#pragma once

#include "zarrcore/view/view.h"

namespace zarrfs {

/// The npy view. Number types that numpy lacks (bfloat16, float8_*, int4) are widened
/// (codec/widen.h). The view hides arrays whose elements have variable lengths, and arrays whose
/// size overflows.
[[nodiscard]] const View& NpyView();

}  // namespace zarrfs
