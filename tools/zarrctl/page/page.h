// `zarrctl info --html`: a page for browsers. It has no script, loads nothing, and all text from
// the store is escaped; a policy in it keeps a browser from doing more than that even so.
#pragma once

#include "tools/zarrctl/commands.h"
#include "tools/zarrctl/target.h"

namespace zarrfs::ctl {

/// Writes `options.html`, under another name until it is whole. Gives the exit code.
int WritePage(const TargetNode& target, const InfoOptions& options);

}  // namespace zarrfs::ctl
