// All commits of an Icechunk repository as one store, in which each commit is a folder:
//
//   branch.main/…    the newest commit of a branch
//   tag.v1.0/…       the commit of a tag
//   snapshot/ID/…    any commit. The root does not list `snapshot`, and `snapshot` lists only the
//                    commits of branches and tags; all other commits can be opened, too.
//
// In the names of branches and tags, `%`, `/` and control characters are written as %XX. A commit
// is read when it is used; the most recently used commits are cached (IcechunkCommitCache).
//
// Until StartWatching() is called, the names are those at the time of opening. Afterwards, the
// store follows all branches and tags. It first computes and announces the differences in all
// branches that were used. Then all names switch to the new commits at the same moment
// (Store::ChangesInSteps). A branch whose next commit cannot be read keeps its previous commit.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "zarrcore/base/result.h"
#include "zarrcore/icechunk/repository.h"
#include "zarrcore/icechunk/virtual_chunks.h"
#include "zarrcore/store/store.h"
#include "zarrcore/store/validity.h"

namespace zarrfs {

/// The value of SourceAccess::at that selects all commits.
inline constexpr std::string_view kAllOfIcechunk = "all";

/// Opens all commits of the repository at the root of `container`. If no change is reported, the
/// branches and tags are checked once per `period`. `virtual_chunks`: see OpenIcechunkStore().
/// Returns the errors of ReadIcechunkRefs().
[[nodiscard]] Result<std::shared_ptr<Store>> OpenAllOfIcechunk(
    const std::shared_ptr<const Store>& container, Age period,
    std::shared_ptr<const IcechunkVirtualChunks> virtual_chunks = nullptr);

/// The name of the folder of a branch or tag.
[[nodiscard]] std::string IcechunkFolderName(const IcechunkAt& at);

}  // namespace zarrfs
