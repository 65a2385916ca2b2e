// The colours of a map's cells.
#ifndef TOOLS_ZARRCTL_MAP_COLOR_H_
#define TOOLS_ZARRCTL_MAP_COLOR_H_

#include "tools/zarrctl/commands.h"
#include "tools/zarrctl/svg.h"

namespace zarrfs::ctl {

/// `value`: from 0 to 1, as MapScale gives it.
[[nodiscard]] Color ColorOf(double value, MapBy by);

}  // namespace zarrfs::ctl

#endif  // TOOLS_ZARRCTL_MAP_COLOR_H_
