// The nc view: each group as one NetCDF file, its arrays the variables, for readers that know
// nothing of Zarr.
//
// Classic formats (netcdf_header.h) keep each variable in one piece, in C order and big-endian, so
// that where each value is, is arithmetic. Each variable begins on a boundary of 4 KiB: its pages
// are those of no other. Dimensions have the names of the arrays' dimensions; of one name with
// several lengths all but one carry theirs (shared_dimensions.h).
#pragma once

#include "zarrcore/view/view.h"

namespace zarrfs {

/// Not shown: arrays of types that NetCDF lacks (complex numbers, structs, opaque bytes, elements
/// that have each a length of their own). What cannot be in one file with the others is left out,
/// with a note.
[[nodiscard]] const View& NcView();

}  // namespace zarrfs
