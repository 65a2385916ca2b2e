// Resolves a key one component at a time, on descriptors: for keys that meet a symbolic link or a
// mount, where the kernel's own resolution cannot be told what may be entered.
//
// A link is never handed to the kernel: its target is read and walked component by component, and
// each folder is looked at (GlanceAt) before anything is asked of it. Where a link may lead is
// decided on the folders that were walked through (device and inode), not on text: a folder that is
// swapped for a link meanwhile leads nowhere else.
#ifndef ZARRCORE_STORE_PATH_WALK_H_
#define ZARRCORE_STORE_PATH_WALK_H_

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "zarrcore/base/result.h"
#include "zarrcore/store/link_policy.h"
#include "zarrcore/store/mounted_devices.h"
#include "zarrcore/store/open_at.h"
#include "zarrcore/store/path_modes.h"

namespace zarrfs {

/// Where links may lead.
struct WalkRules {
  LinkPolicy policy;
  std::vector<FileId> folders;                          // of the policy, resolved
  std::vector<std::shared_ptr<const Descriptor>> held;  // those: no other folder gets their ids
  /// Absolute: a target that begins with one ends inside, after a look whether the store is still
  /// there if it may move.
  std::vector<std::string> store_paths;
  bool store_moves = true;
  /// Whether files are as closed to other users as the way to them.
  bool restrict_modes = true;
};

/// A regular file, folder or special file of the store. Nothing was opened but the path to it.
struct Walked {
  std::shared_ptr<const Descriptor> fd;      // O_PATH
  std::shared_ptr<const Descriptor> folder;  // that it was found in; null for the root
  std::string name;                          // there
  uint32_t type = 0;                         // S_IFREG, S_IFDIR, …
  bool is_linked = false;                    // a link was followed
  /// The permission bits that the folders on the resolved path leave to it (ModeMask()).
  uint32_t mode_mask = 0777;
};

/// What `key` names below `root`.
///
/// kNotFound: a component is missing, or lies below a file. kLinkRefused: a symbolic link that the
/// rules forbid, that dangles or loops; the message names its key, its target, and how to follow
/// it. kZarrfsMount: the path enters one.
[[nodiscard]] Result<Walked> WalkPath(const WalkRules& rules, MountedDevices& devices,
                                      std::shared_ptr<const Descriptor> root, std::string_view key);

/// Opens what was found for reading, never through a link. Empty, with errno set, on failure.
[[nodiscard]] Descriptor OpenWalked(const Walked& walked, uint64_t flags);

/// The failure of openat2(2) for `key` where no symbolic link is on the path. kNotFound if there is
/// no such name or there can be none.
[[nodiscard]] tl::unexpected<Error> FailToOpen(std::string_view key, int error_number);

}  // namespace zarrfs

#endif  // ZARRCORE_STORE_PATH_WALK_H_
