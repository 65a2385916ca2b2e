// The nc view: each group as one NetCDF file with its arrays as variables, for readers without Zarr
// support.
//
// Classic formats (netcdf_header.h) store each variable contiguously, in C order and big-endian, so
// the position of each value is computed. Variables begin on boundaries of 4 KiB, so they share no
// pages. Dimensions have the names of the arrays' dimensions. If dimensions of the same name differ
// in length, only one of these dimensions keeps the plain name; the names of the others contain
// their lengths (shared_dimensions.h).
#pragma once

#include "zarrcore/view/view.h"

namespace zarrfs {

/// The nc view. It hides arrays of types that NetCDF lacks: complex numbers, structs, opaque bytes,
/// and bytes of variable length. If not all arrays of a group fit into one file, some are left out,
/// and AssembledFile::notes lists them with the reasons.
[[nodiscard]] const View& NcView();

}  // namespace zarrfs
