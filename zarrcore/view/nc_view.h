// The nc view: each group as one NetCDF file with its arrays as variables, for readers without Zarr
// support.
//
// Classic formats (netcdf_header.h) keep each variable contiguous, in C order and big-endian, so
// the position of each value is computed. Each variable begins on a boundary of 4 KiB: it shares no
// page with another. Dimensions have the names of the arrays' dimensions; if one name has several
// lengths, all but one carry theirs (shared_dimensions.h).
#pragma once

#include "zarrcore/view/view.h"

namespace zarrfs {

/// Not shown: arrays of types that NetCDF lacks (complex numbers, structs, opaque bytes, elements
/// of individual lengths). Arrays that do not fit into one file with the others are omitted, with a
/// note.
[[nodiscard]] const View& NcView();

}  // namespace zarrfs
