// LinkPolicy: which symbolic links of a store are followed.
//
//   inside         only links that end inside the store
//   follow         also links that leave the store
//   DIR[:DIR…]     also links that leave the store and end below one of these folders
//
// Every policy follows links only to regular files and folders. No policy follows a link into a
// zarrfs mount or a kernel file system (/proc, /sys, …), through a magic link of /proc, or to a
// folder above the link. At most kMaxFolderLinks links to folders are followed on one path.
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
  std::vector<std::string> folders;  // absolute, as the user wrote them; only for kBelow

  bool operator==(const LinkPolicy&) const = default;
};

/// Parses "inside", "follow" or "/a:/b". nullopt for anything else, including an empty or relative
/// DIR.
[[nodiscard]] std::optional<LinkPolicy> ParseLinkPolicy(std::string_view text);

/// Formats a policy so that ParseLinkPolicy() can parse it.
[[nodiscard]] std::string ToString(const LinkPolicy& policy);

/// The value for "links=" that additionally allows a link to the absolute path `target`. It lists
/// the folders of `policy` and one that is likely to hold similar targets: the objects folder of a
/// git-annex repository, a DVC cache, or otherwise the target's own folder. "" if the option cannot
/// express that folder.
[[nodiscard]] std::string PolicyThatFollows(const LinkPolicy& policy, std::string_view target);

}  // namespace zarrfs
