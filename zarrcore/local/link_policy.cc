#include "zarrcore/local/link_policy.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

namespace zarrfs {
namespace {

// Folders in which data version control systems keep the targets of their links.
constexpr std::array<std::string_view, 3> kObjectFolders = {
    "/.git/annex/objects",  // git-annex, DataLad
    "/.dvc/cache",          // DVC, cache inside the repository
    "/files/md5",           // DVC 3, cache outside the repository
};

std::string_view FolderThatHolds(std::string_view target) {
  for (const std::string_view folder : kObjectFolders) {
    const size_t at = target.rfind(folder);
    if (at != std::string_view::npos && target.substr(at + folder.size()).starts_with('/')) {
      return target.substr(0, at + folder.size());
    }
  }
  return target.substr(0, target.rfind('/'));
}

// True if the folder's name needs no quotes in a shell, in fstab and in an option list.
bool NeedsNoQuotes(std::string_view folder) {
  return std::ranges::all_of(folder, [](char c) {
    return ('a' <= c && c <= 'z') || ('A' <= c && c <= 'Z') || ('0' <= c && c <= '9') ||
           std::string_view("/._-+@%=~").find(c) != std::string_view::npos ||
           static_cast<unsigned char>(c) >= 0x80;
  });
}

}  // namespace

std::optional<LinkPolicy> ParseLinkPolicy(std::string_view text) {
  if (text == "inside") return LinkPolicy{LinkPolicy::Kind::kInside, {}};
  if (text == "follow") return LinkPolicy{LinkPolicy::Kind::kFollow, {}};
  LinkPolicy policy{LinkPolicy::Kind::kBelow, {}};
  for (;;) {
    const size_t colon = text.find(':');
    const std::string_view folder = text.substr(0, colon);
    if (!folder.starts_with('/') || folder.find('\0') != std::string_view::npos) {
      return std::nullopt;
    }
    policy.folders.emplace_back(folder);
    if (colon == std::string_view::npos) return policy;
    text.remove_prefix(colon + 1);
  }
}

std::string ToString(const LinkPolicy& policy) {
  if (policy.kind == LinkPolicy::Kind::kInside) return "inside";
  if (policy.kind == LinkPolicy::Kind::kFollow) return "follow";
  return fmt::format("{}", fmt::join(policy.folders, ":"));
}

std::string PolicyThatFollows(const LinkPolicy& policy, std::string_view target) {
  const std::string_view folder = FolderThatHolds(target);
  if (folder.empty() || !NeedsNoQuotes(folder)) return "";
  std::vector<std::string> folders = policy.folders;
  folders.emplace_back(folder);
  return fmt::format("{}", fmt::join(folders, ":"));
}

}  // namespace zarrfs
