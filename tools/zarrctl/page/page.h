// `zarrctl info --html`: a page for browsers. The page has no script, loads nothing, and escapes
// all strings from the store. In addition, its content security policy restricts browsers.
#pragma once

#include "tools/zarrctl/commands.h"
#include "tools/zarrctl/page/budget.h"
#include "tools/zarrctl/target.h"

namespace zarrfs::ctl {

/// Writes the file `options.html`, under another name until it is complete. Returns the exit code.
/// If a call to the store has not returned when the time of `limits` is over, writes the results so
/// far and ends the program.
int WritePage(const TargetNode& target, const InfoOptions& options, const PageLimits& limits = {});

}  // namespace zarrfs::ctl
