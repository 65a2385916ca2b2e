// Resolves a key one component at a time, on descriptors: for keys with a symbolic link or a mount
// on their path, for which openat2(2) cannot express which folders may be entered.
//
// The kernel never follows a link here: the walk reads its target, resolves that component by
// component, and inspects each folder (GlanceAt) before it sends a request there. Whether a link
// may be followed depends on the folders that the walk went through (device and inode), not on
// text: swapping a folder for a link during the walk leads nowhere else.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "zarrcore/base/result.h"
#include "zarrcore/local/access_lists.h"
#include "zarrcore/local/link_policy.h"
#include "zarrcore/local/mounted_devices.h"
#include "zarrcore/local/open_at.h"
#include "zarrcore/local/path_modes.h"

namespace zarrfs {

/// Where links may lead.
struct WalkRules {
  LinkPolicy policy;
  std::vector<FileId> folders;                          // of the policy, resolved
  std::vector<std::shared_ptr<const Descriptor>> held;  // prevent reuse of their ids
  /// Absolute paths of the store: a target that begins with one is inside the store. Verified first
  /// if the store may have moved.
  std::vector<std::string> store_paths;
  bool store_moves = true;
  /// Whether to compute Walked::mode_mask, and the `reader` of ModeMask() for it.
  bool restrict_modes = true;
  uint32_t reader = 0;
  /// Of files and folders; null if `restrict_modes` is false.
  std::shared_ptr<AccessLists> access_lists = nullptr;
};

/// A file of any type in the store, opened with O_PATH only.
struct Walked {
  std::shared_ptr<const Descriptor> fd;  // O_PATH
  uint32_t type = 0;                     // S_IFREG, S_IFDIR, …
  /// The permission bits that the folders on the resolved path leave to it (ModeMask()).
  uint32_t mode_mask = 0777;
};

/// Resolves `key` below `root`.
///
/// kNotFound: a component is missing, or below a file. kLinkRefused: a symbolic link that the rules
/// forbid, that dangles or loops; the message has its key, its target, and how to follow it.
/// kZarrfsMount: the path enters a zarrfs mount.
[[nodiscard]] Result<Walked> WalkPath(const WalkRules& rules, MountedDevices& devices,
                                      std::shared_ptr<const Descriptor> root, std::string_view key);

/// The Error for a failed openat2(2) of `key` without symbolic links on the path. kNotFound if the
/// name does not, or cannot, exist.
[[nodiscard]] tl::unexpected<Error> FailToOpen(std::string_view key, int error_number);

}  // namespace zarrfs
