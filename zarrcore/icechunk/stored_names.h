// The names under which a repository of version 1 stores its branches and tags. Most of icechunk's
// storage backends write special and non-ASCII characters as %XX. Others store a name unchanged.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "zarrcore/icechunk/repository.h"

namespace zarrfs {

/// The name of a branch or tag that is stored as `stored`. Both names are without the prefix
/// "branch." or "tag.".
[[nodiscard]] std::string NameOfStoredIcechunkRef(std::string_view stored);

/// The names under which a branch or tag may be stored, in the order in which to try them: the name
/// unchanged, and the encoded name if that differs.
[[nodiscard]] std::vector<std::string> StoredIcechunkNames(const IcechunkAt& at);

}  // namespace zarrfs
