// Dates for readers that know only numbers: the attributes of the CF conventions ("Time
// Coordinate") that say what the integers of numpy.datetime64 and numpy.timedelta64 mean.
#ifndef ZARRCORE_VIEW_CF_TIME_H_
#define ZARRCORE_VIEW_CF_TIME_H_

#include "zarrcore/metadata/data_type.h"
#include "zarrcore/metadata/json.h"

namespace zarrfs {

/// `attributes` and what they lack: "_FillValue", the integer that is "not a time"; "units" and, of
/// a point in time, "calendar"; or, where CF has no such unit (years, picoseconds, steps of 10 us),
/// "zarr_dtype", numpy's name of the type. An attribute that is there stays as it is, and with
/// "units" of its own no "calendar" is added. Of any other data type: `attributes`.
[[nodiscard]] Json WithCfTime(Json attributes, const DataType& type);

}  // namespace zarrfs

#endif  // ZARRCORE_VIEW_CF_TIME_H_
