// Which symbolic links of a store zarrctl follows.
#ifndef TOOLS_ZARRCTL_LINKS_H_
#define TOOLS_ZARRCTL_LINKS_H_

#include "zarrcore/store/link_policy.h"

namespace zarrfs::ctl {

/// As a mount by the same user does without options, unless SetLinksToFollow() was called: root's
/// is open to others, who must not be led out of the store.
[[nodiscard]] LinkPolicy LinksToFollow();
/// From now on. Before any store is opened.
void SetLinksToFollow(LinkPolicy policy);

}  // namespace zarrfs::ctl

#endif  // TOOLS_ZARRCTL_LINKS_H_
