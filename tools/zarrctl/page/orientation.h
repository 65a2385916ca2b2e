// Which way up a picture is: rows of an array may begin in the south.
#pragma once

#include <functional>

#include "tools/zarrctl/page/budget.h"
#include "zarrcore/hierarchy/hierarchy.h"

namespace zarrfs::ctl {

/// Whether the dimension of the rows (the last axis but one) has a coordinate that says north, an
/// array of its name beside `array`, and that grows. Reads it if it is one chunk.
[[nodiscard]] bool RowsGoNorth(const Hierarchy& hierarchy, const Node& array,
                               const std::function<bool()>& is_over);

}  // namespace zarrfs::ctl
