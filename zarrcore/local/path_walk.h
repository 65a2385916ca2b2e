// Resolves a key one component at a time, with descriptors. Used for keys with a symbolic link or a
// mount on their path, because openat2(2) cannot express which folders may be entered.
//
// The kernel never follows a link here. The walk reads the link's target, resolves that component
// by component, and inspects each folder (GlanceAt) before it sends a request there. Whether a link
// may be followed depends on the device and inode of the folders on the path, not on names, so an
// attacker gains nothing by swapping a folder for a link during the walk.
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

/// The rules of a walk: where links may lead, and which permissions to compute.
struct WalkRules {
  LinkPolicy policy;
  std::vector<FileId> folders;  // the folders of the policy, resolved
  // Open descriptors of `folders`, so the kernel does not reuse their inodes.
  std::vector<std::shared_ptr<const Descriptor>> held;
  /// Absolute paths of the store. A link whose target begins with one of them leads into the store.
  /// If the store may have moved (`store_moves`), the walk first checks that the path still leads
  /// to the store.
  std::vector<std::string> store_paths;
  bool store_moves = true;
  /// True if Walked::mode_mask is computed. `reader` is passed to ModeMask().
  bool restrict_modes = true;
  uint32_t reader = 0;
  /// The access lists of files and folders; null if `restrict_modes` is false.
  std::shared_ptr<AccessLists> access_lists = nullptr;
};

/// The file to which a key leads. It may have any type.
struct Walked {
  std::shared_ptr<const Descriptor> fd;  // opened with O_PATH
  uint32_t type = 0;                     // S_IFREG, S_IFDIR, …
  /// The permission bits of the file that remain below the folders on its resolved path; see
  /// ModeMask().
  uint32_t mode_mask = 0777;
};

/// Resolves `key` below `root`.
///
/// kNotFound: a component is missing, or its parent is a file. kLinkRefused: a symbolic link is
/// forbidden by the rules, dangles or loops; the message has its key, its target, and how to follow
/// it. kZarrfsMount: the path enters a zarrfs mount.
[[nodiscard]] Result<Walked> WalkPath(const WalkRules& rules, MountedDevices& devices,
                                      std::shared_ptr<const Descriptor> root, std::string_view key);

/// The error for a failed openat2(2) of `key` if no symbolic link is on its path. kNotFound if the
/// name does not exist or cannot exist.
[[nodiscard]] tl::unexpected<Error> FailToOpen(std::string_view key, int error_number);

}  // namespace zarrfs
