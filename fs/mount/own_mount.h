// OwnMount: the mount that a keeper owns, from before it is made until it has ended, and the
// connection of the mount to the kernel, which the keeper passes to one worker after the other.
//
// No function accesses files of the mount, because an access would hang forever if no worker
// answers.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "fs/mount/channel.h"
#include "fs/mount/mountpoint.h"
#include "fs/mount/start_message.h"
#include "fs/options/options.h"
#include "zarrcore/base/result.h"
#include "zarrcore/os/descriptor.h"
#include "zarrcore/os/mount_table.h"

namespace zarrfs {

class OwnMount {
 public:
  OwnMount(MountPoint point, bool outlives_workers)
      : path_(std::move(point.path)),
        dead_(std::move(point.dead)),
        folder_(std::move(point.folder)),
        given_(std::move(point.given)),
        is_given_(given_ != nullptr),
        outlives_workers_(outlives_workers) {}

  /// Makes the mount, in place of the dead mount if one exists, or takes over the connection of a
  /// mount that another program made. The process must not have threads.
  [[nodiscard]] Result<void> Make(const MountOptions& options);
  /// Unmounts the mount if it is on top at the mount point; succeeds if the mount no longer exists.
  /// Does nothing if another program made the mount, which then ends with its connection.
  [[nodiscard]] Result<void> Unmount(bool detach) const;
  /// Unmounts after a failed start. A mount that replaced a dead mount stays, and becomes a dead
  /// mount when its worker ends.
  void Undo() const;
  /// Detaches the dead mount that this mount covers.
  void ClearCovered() const;

  /// Adds FUSE_INIT and its answer to `state`. The trial of a newer program needs them.
  void AddTo(StartMessage& state, const MountOptions& options) const;

  /// Passes the connection to a worker (Message::Kind::kMounted). Workers after the first are
  /// offered only the features that the mount has.
  [[nodiscard]] Result<void> GiveTo(const Channel& worker, const MountOptions& options);

  [[nodiscard]] const std::string& path() const { return path_; }
  /// The device number of the mount; 0 if it is not in the mount table.
  [[nodiscard]] dev_t device() const { return device_; }
  /// True if another worker can take over the mount after a worker has ended.
  [[nodiscard]] bool outlives_workers() const { return outlives_workers_; }
  /// True if requests that a worker has read but not answered can be resent to the next worker.
  [[nodiscard]] bool resends() const { return resends_; }
  [[nodiscard]] bool is_made() const { return made_; }
  /// True if another program made the mount. This process neither sees nor unmounts a given mount.
  [[nodiscard]] bool is_given() const { return is_given_; }
  /// True if the connection still exists: the mount or a program that uses it still exists, and the
  /// connection was not aborted.
  [[nodiscard]] bool IsConnected() const;
  /// True if a lookup of the mount point reaches this mount.
  [[nodiscard]] bool IsOnTop() const;
  /// Makes all requests fail forever; see AbortConnection().
  void Abort() const;
  /// Closes the descriptors of the mount and its connection, in a process that does not need them.
  void Close();

 private:
  // Returns a descriptor of the connection with a new open file description. If this process cannot
  // open one, returns a descriptor that shares the existing description if another program made the
  // mount; otherwise an empty descriptor.
  [[nodiscard]] Descriptor Share() const;
  // The functions below make the mount and return the FUSE device.
  Result<Descriptor> MakeByLibfuse(const MountOptions& options);
  Result<Descriptor> MakeByRoot(const MountOptions& options);
  Result<Descriptor> MakeInPlaceOfDead(const MountOptions& options);
  // True if an entry of the mount table is this mount. While the connection of this mount exists,
  // no other mount has its device number.
  [[nodiscard]] bool IsOurs(const Mounted& mounted) const;

  const std::string path_;
  const std::optional<Mounted> dead_;    // the mount to replace
  std::shared_ptr<MountFolder> folder_;  // set if root mounts
  std::shared_ptr<Descriptor> given_;    // another program's connection, until Make() takes it over
  const bool is_given_;
  bool outlives_workers_;  // if false, the mount ends with its worker
  bool made_ = false;
  bool replaced_dead_ = false;
  bool covers_dead_ = false;      // the dead mount is below this mount
  dev_t device_before_ = 0;       // the device at the mount point before mounting
  dev_t device_ = 0;              // the device of this mount; 0 if it is not in the mount table
  uint64_t mount_id_ = 0;         // the id of this mount; 0 if it is not in the mount table
  uint64_t unique_mount_id_ = 0;  // see UniqueMountId()
  Descriptor connection_;         // keeps the mount alive
  Descriptor shared_;  // a descriptor of the same connection, from which all workers read
  // FUSE_INIT. For the second and later workers, OnlyGiven() has removed features not in use.
  std::string init_;
  std::string answer_;  // the first worker's answer to FUSE_INIT; "" until the second worker starts
  bool resends_ = false;
  Descriptor name_;  // the socket from NameKeeper()
};

}  // namespace zarrfs
