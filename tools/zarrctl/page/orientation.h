// The orientation of a picture. The first row of an array may be its southern edge.
#pragma once

#include <functional>

#include "tools/zarrctl/page/budget.h"
#include "zarrcore/hierarchy/hierarchy.h"

namespace zarrfs::ctl {

/// True if the coordinate of the rows (the second-to-last axis) increases to the north. The
/// coordinate is an array named after the dimension, in the same group as `array`. It is read only
/// if it has a single chunk.
[[nodiscard]] bool RowsGoNorth(const Hierarchy& hierarchy, const Node& array,
                               const std::function<bool()>& is_over);

}  // namespace zarrfs::ctl
