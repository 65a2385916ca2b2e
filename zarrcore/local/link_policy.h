// Which symbolic links of a store are followed.
//
//   inside         links that end inside the store
//   follow         links out of the store, too
//   DIR[:DIR…]     links out of the store, too, if they end below one of these folders
//
// Under any policy, links are followed only to regular files and folders, and never into a zarrfs
// mount or a kernel file system (/proc, /sys, …), through a magic link of /proc, or to a folder
// above the link. At most kMaxFolderLinks links to folders are followed on one path.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace zarrfs {

/// Maximum number of links to folders on one path, including links in link targets.
inline constexpr int kMaxFolderLinks = 8;

struct LinkPolicy {
  enum class Kind { kInside, kFollow, kBelow };
  Kind kind = Kind::kInside;
  std::vector<std::string> folders;  // for kBelow: absolute, as written

  bool operator==(const LinkPolicy&) const = default;
};

/// Parses "inside", "follow" or "/a:/b"; nullopt for anything else (an empty or relative DIR).
[[nodiscard]] std::optional<LinkPolicy> ParseLinkPolicy(std::string_view text);

/// The inverse of ParseLinkPolicy().
[[nodiscard]] std::string ToString(const LinkPolicy& policy);

/// The value of "links=" that also follows a link to `target` (absolute): the folders of `policy`
/// and one that holds similar targets (the objects of a git-annex repository, a DVC cache, else the
/// target's folder). "" if such a list cannot express the folder.
[[nodiscard]] std::string PolicyThatFollows(const LinkPolicy& policy, std::string_view target);

}  // namespace zarrfs
