// `zarrctl info --html`: a page for browsers. It has no script, loads nothing, and all text from
// the store is escaped; in addition, a content security policy in it restricts browsers.
#pragma once

#include "tools/zarrctl/commands.h"
#include "tools/zarrctl/target.h"

namespace zarrfs::ctl {

/// Writes `options.html`, under another name until it is complete. Returns the exit code.
int WritePage(const TargetNode& target, const InfoOptions& options);

}  // namespace zarrfs::ctl
