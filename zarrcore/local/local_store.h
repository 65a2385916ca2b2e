// LocalStore: a directory as a Store.
//
// Every path is resolved beneath a descriptor of the root (openat2, RESOLVE_BENEATH |
// RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV), and where it meets a symbolic link or another mount, one
// component at a time (store/path_walk.h), subject to the link policy. A link that is not followed,
// dangles or loops exists but cannot be read: kLinkRefused, and is_refused in a listing.
//
// If another directory is put in the root's place (by rename, or by changing a symbolic link on its
// path), it is the store from then on, unless it is a zarrfs mount. Folders that are zarrfs mounts
// are never entered (kZarrfsMount, is_refused) nor sent a request, so a mount point inside its own
// source neither hangs nor recurses. Other mounts inside the source are read like any folder.
// Sockets, FIFOs and devices are never opened: kUnsupported.
//
// Objects keep their descriptor in a cache of at most `max_open_files` until CloseIdle() finds it
// idle; the next read opens the file again, and gives kStale if it is another version by then.
// After every read an fstat proves that the file did not change meanwhile. A file that was unlinked
// or replaced by rename keeps its version for as long as its descriptor is open.
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
  /// Descriptors to keep open; 0 for three quarters of RLIMIT_NOFILE's soft limit, less 64.
  size_t max_open_files = 0;
  /// Whether to look up the root at its path again. Must be false if this process serves a mount
  /// over the path: it would wait for itself.
  bool follow_path = true;
  /// Which symbolic links are followed.
  LinkPolicy links = {};
  /// Whether other users than this process's will read the data. If so, ObjectInfo::mode grants
  /// them no more than the folders on the way do (ModeMask()).
  bool others_read = true;
  /// Who may read all of the store: the user whom this process reads for.
  uid_t reader = geteuid();
  /// A name of objects that are watched (StartWatching()), beside those that Zarr has.
  std::string watched_name = {};
  /// Called once, with the key of the first object or folder whose access control list took
  /// permissions that its bits show (access_lists.h).
  std::function<void(std::string_view key)> on_access_list = {};
  /// Called when another directory was put in the root's place that the sandbox of this process
  /// does not let it read; the store stays the one that it was, and this is called again.
  std::function<void()> on_out_of_reach = {};
};

/// Opens the directory `path`, or takes it as `root` (O_PATH) where it was opened before: a mount
/// may hide it by now, and the path is not looked up at all. kNotFound, kNotADirectory or
/// kPermissionDenied if it, or a folder of the link policy, cannot be opened.
[[nodiscard]] Result<std::shared_ptr<Store>> OpenLocalStore(const std::string& path,
                                                            LocalStoreOptions options = {},
                                                            Descriptor root = {});

/// Raises the soft limit of RLIMIT_NOFILE to the hard limit; returns the new limit.
size_t RaiseOpenFileLimit();

}  // namespace zarrfs
