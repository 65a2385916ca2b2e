// LocalStore: a directory as a Store.
//
// Every path is resolved beneath a descriptor of the root (openat2, RESOLVE_BENEATH |
// RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV), and where it meets a symbolic link or another mount, one
// component at a time (store/path_walk.h): a link leads where the link policy says, and nowhere
// else. One that is not followed, dangles or loops is there and cannot be read: kLinkRefused, and
// is_refused in a listing.
//
// Another directory that is put in the root's place (by rename, by a symbolic link that now leads
// elsewhere) is the store from then on; a zarrfs mount there is not. Folders that are zarrfs mounts
// themselves are never entered (kZarrfsMount, is_refused) nor sent any request, so a mount point
// inside its own source neither hangs nor recurses. Other mounts inside the source are read like
// any folder. Sockets, FIFOs and devices are never
// opened: kUnsupported.
//
// Objects that were read keep their descriptor in a cache of at most `max_open_files`, until
// CloseIdle() finds it unread for a minute; a closed one is opened again when it is read again,
// and kStale if it is another version by then. After every read an fstat proves that the file did
// not change under it; a file that was only unlinked or replaced by rename keeps its version for as
// long as its descriptor is open.
#ifndef ZARRCORE_STORE_LOCAL_STORE_H_
#define ZARRCORE_STORE_LOCAL_STORE_H_

#include <memory>
#include <string>

#include "zarrcore/store/link_policy.h"
#include "zarrcore/store/store.h"

namespace zarrfs {

struct LocalStoreOptions {
  /// Descriptors to keep open; 0 takes three quarters of RLIMIT_NOFILE's soft limit, less 64.
  size_t max_open_files = 0;
  /// Whether to look for the root at its path again. Not where a mount of this process will lie
  /// over the path: it would wait for itself.
  bool follow_path = true;
  /// Which symbolic links are followed.
  LinkPolicy links = {};
  /// Whether others than this process's user will read what the store gives. If so,
  /// ObjectInfo::mode is as closed to them as the folders on the way (ModeMask()).
  bool others_read = true;
};

/// kNotFound, kNotADirectory or kPermissionDenied if `path`, or a folder of the link policy, cannot
/// be opened as a folder.
[[nodiscard]] Result<std::shared_ptr<Store>> OpenLocalStore(const std::string& path,
                                                            LocalStoreOptions options = {});

/// Raises the soft limit of RLIMIT_NOFILE to the hard limit; the new limit. For `main`.
size_t RaiseOpenFileLimit();

}  // namespace zarrfs

#endif  // ZARRCORE_STORE_LOCAL_STORE_H_
