// The mount that a keeper owns, from before it is made until it has ended, and its connection to
// the kernel, which the keeper gives to one worker after the other.
//
// Nothing here accesses the mount: if no worker answers, that would hang forever.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "fs/mount/channel.h"
#include "fs/mount/hand_over.h"
#include "fs/mount/mountpoint.h"
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
        outlives_workers_(outlives_workers) {}
  /// A mount passed on by another program. Its descriptors must have been checked.
  explicit OwnMount(const HandOver& state);

  /// Mounts, in place of the dead mount if there is one. The process must not have threads.
  [[nodiscard]] Result<void> Make(const MountOptions& options);
  /// Unmounts it if it is on top at the mount point; succeeds if no mount exists.
  [[nodiscard]] Result<void> Unmount(bool detach) const;
  /// Unmounts after a failed start. A mount that replaced a dead one stays: it is dead, too, once
  /// its worker has ended.
  void Undo() const;
  /// Detaches the dead mount below it.
  void ClearCovered() const;

  /// Stores in `state` what the next program needs.
  void HandOverTo(HandOver& state, const MountOptions& options) const;

  /// Passes the connection to a worker (Message::Kind::kMounted). Later workers are offered only
  /// what the mount has.
  [[nodiscard]] Result<void> GiveTo(const Channel& worker, const MountOptions& options);

  [[nodiscard]] const std::string& path() const { return path_; }
  /// 0 if it is not in the mount table.
  [[nodiscard]] dev_t device() const { return device_; }
  /// Whether another worker can take over after one has ended.
  [[nodiscard]] bool outlives_workers() const { return outlives_workers_; }
  /// Whether requests that a worker has taken can be resent to the next one.
  [[nodiscard]] bool resends() const { return resends_; }
  [[nodiscard]] bool is_made() const { return made_; }
  /// Whether the mount, or a user of it, still exists and nobody has aborted the connection.
  [[nodiscard]] bool IsConnected() const;
  /// Whether lookups of the mount point find it.
  [[nodiscard]] bool IsOnTop() const;
  /// Fails all requests forever (AbortConnection).
  void Abort() const;
  /// Closes the connection, in a process that does not keep it.
  void Close();

 private:
  // These return the FUSE device.
  Result<Descriptor> MakeByLibfuse(const MountOptions& options);
  Result<Descriptor> MakeByRoot(const MountOptions& options);
  Result<Descriptor> MakeInPlaceOfDead(const MountOptions& options);
  // While the connection lives, no other mount has its number.
  [[nodiscard]] bool IsOurs(const Mounted& mounted) const;

  const std::string path_;
  const std::optional<Mounted> dead_;    // the mount to replace
  std::shared_ptr<MountFolder> folder_;  // on which root mounts, and through which it unmounts
  const bool outlives_workers_;          // otherwise the mount dies with the worker
  bool made_ = false;
  bool replaced_dead_ = false;
  bool covers_dead_ = false;      // the dead mount lies below ours
  dev_t device_before_ = 0;       // at the mount point, before mounting
  dev_t device_ = 0;              // of our mount; 0 if it is not in the mount table
  uint64_t mount_id_ = 0;         // likewise
  uint64_t unique_mount_id_ = 0;  // see UniqueMountId()
  Descriptor connection_;         // keeps the mount alive
  Descriptor shared_;             // of the same connection: all workers read from it
  std::string init_;              // FUSE_INIT; from the second worker on OnlyGiven()
  std::string answer_;            // what the first worker promised to it; until the second one: ""
  bool resends_ = false;
  Descriptor name_;  // NameKeeper()
};

}  // namespace zarrfs
