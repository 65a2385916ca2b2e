// Which symbolic links of a store are followed.
//
//   inside         links that end inside the store
//   follow         links out of the store too
//   DIR[:DIR…]     links out of the store too, where they end below one of these folders
//
// Whatever the policy, a link never leads to anything but a regular file or a folder; never into a
// zarrfs mount or a file system of the kernel (/proc, /sys, …); never through a magic link of
// /proc; never to a folder above itself; and at most kMaxFolderLinks lead to folders on one path.
#ifndef ZARRCORE_STORE_LINK_POLICY_H_
#define ZARRCORE_STORE_LINK_POLICY_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace zarrfs {

/// Links to folders that are followed on one path, those in the targets of links counted.
inline constexpr int kMaxFolderLinks = 8;

struct LinkPolicy {
  enum class Kind { kInside, kFollow, kBelow };
  Kind kind = Kind::kInside;
  std::vector<std::string> folders;  // of kBelow: absolute, as written

  bool operator==(const LinkPolicy&) const = default;
};

/// "inside", "follow" or "/a:/b"; nothing if it is none of these (a DIR is empty or relative).
[[nodiscard]] std::optional<LinkPolicy> ParseLinkPolicy(std::string_view text);

/// The text that ParseLinkPolicy() takes.
[[nodiscard]] std::string ToString(const LinkPolicy& policy);

/// What to write after "links=" so that a link to `target` (absolute) is followed too: the folders
/// of `policy`, and one that holds targets of the same kind: the objects of a git-annex repository,
/// a DVC cache, else the target's folder. "" if no list can say it.
[[nodiscard]] std::string PolicyThatFollows(const LinkPolicy& policy, std::string_view target);

}  // namespace zarrfs

#endif  // ZARRCORE_STORE_LINK_POLICY_H_
