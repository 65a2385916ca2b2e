// LocalStore: a directory as a Store.
//
// Every path is resolved beneath a descriptor of the root (openat2, RESOLVE_BENEATH |
// RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV). Paths with a symbolic link or another mount are resolved
// one component at a time (local/path_walk.h), subject to the link policy. A link that must not be
// followed, dangles or loops is listed with is_refused, and every access fails with kLinkRefused.
//
// If another directory replaces the root, by rename or by a changed symbolic link on its path, the
// other directory becomes the root, unless it is a zarrfs mount or the sandbox forbids reading it.
// Folders that are zarrfs mounts are not entered (kZarrfsMount, is_refused) and receive no
// requests, so a mount point inside its own source neither hangs nor recurses. Other mounts inside
// the source are read like any folder. Sockets, FIFOs and devices are never opened (kUnsupported).
//
// Objects keep their descriptors in a cache of at most `max_open_files` until CloseIdle() finds
// them idle. The next read opens the file again, and fails with kStale if the file has another
// version. An fstat after every read proves that the file did not change during the read. A file
// that was unlinked or replaced by rename keeps its version while its descriptor is open.
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <functional>
#include <memory>
#include <string>

#include "zarrcore/local/link_policy.h"
#include "zarrcore/os/descriptor.h"
#include "zarrcore/store/store.h"

namespace zarrfs {

struct LocalStoreOptions {
  /// Maximum number of open descriptors. 0: three quarters of RLIMIT_NOFILE's soft limit, minus 64.
  size_t max_open_files = 0;
  /// True if the root is looked up again at its path. Must be false if this process serves a mount
  /// that covers the path, because the lookup would wait for this process.
  bool follow_path = true;
  /// Which symbolic links are followed.
  LinkPolicy links = {};
  /// True if users other than the user of this process read the data. ObjectInfo::mode then grants
  /// them no more than the folders above the object do; see ModeMask().
  bool others_read = true;
  /// The user on whose behalf this process reads. This user may read the whole store.
  uid_t reader = geteuid();
  /// A name of objects that StartWatching() watches in addition to the names that Zarr uses.
  std::string watched_name = {};
  /// Called once, with the key of the first object or folder whose access control list grants less
  /// than its permission bits show; see access_lists.h.
  std::function<void(std::string_view key)> on_access_list = {};
  /// Called each time another directory has taken the place of the root, but the sandbox forbids
  /// this process to read that directory. The store keeps the old root.
  std::function<void()> on_out_of_reach = {};
};

/// Opens the directory `path`. If the caller has already opened the directory, `root` is its
/// descriptor (O_PATH), and `path` is not opened, because a mount may cover it. kNotFound,
/// kNotADirectory or kPermissionDenied if the directory or a folder of the link policy cannot be
/// opened.
[[nodiscard]] Result<std::shared_ptr<Store>> OpenLocalStore(const std::string& path,
                                                            LocalStoreOptions options = {},
                                                            Descriptor root = {});

/// Raises the soft limit of RLIMIT_NOFILE to the hard limit. Returns the new limit.
size_t RaiseOpenFileLimit();

}  // namespace zarrfs
