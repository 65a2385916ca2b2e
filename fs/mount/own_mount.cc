#include "fs/mount/own_mount.h"

#include <fcntl.h>
#include <fuse_lowlevel.h>
#include <spdlog/spdlog.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "fs/fuse/connection.h"
#include "fs/mount/dead_mount.h"
#include "fs/mount/keeper_name.h"
#include "fs/mount/mount_control.h"
#include "fs/mount/session.h"
#include "fs/options/log.h"

namespace zarrfs {

namespace {

// Returns the opened folder; null if it could not be opened, or this process is not root.
std::shared_ptr<MountFolder> HoldFolder(Result<MountFolder> held) {
  if (geteuid() != 0) return nullptr;
  return held ? std::make_shared<MountFolder>(*std::move(held)) : nullptr;
}

}  // namespace

void OwnMount::AddTo(StartMessage& state, const MountOptions& options) const {
  state.init = init_;
  state.answer = answer_.empty() ? AnswerOf(options, init_) : answer_;
}

Result<void> OwnMount::Make(const MountOptions& options) {
  if (given_) {
    connection_ = std::move(*given_);
    made_ = true;
    name_ = NameKeeper(kGivenMount);
    return {};
  }
  auto device = dead_     ? MakeInPlaceOfDead(options)
                : folder_ ? MakeByRoot(options)
                          : MakeByLibfuse(options);
  if (!device) return Fail(device);
  connection_ = *std::move(device);
  const auto entry = FindMount(path_);
  if (entry && entry->type == kMountType) {
    device_ = entry->device;
    mount_id_ = entry->id;
    unique_mount_id_ = UniqueMountId(path_);
    name_ = NameKeeper(device_);
  }
  return {};
}

Result<Descriptor> OwnMount::MakeInPlaceOfDead(const MountOptions& options) {
  auto replacement = ReplaceDeadMount(options, *dead_);
  if (replacement) {
    made_ = true;
    replaced_dead_ = true;
    covers_dead_ = replacement->covers_dead;
    device_before_ = replacement->dead;
    return std::move(replacement->device);
  }
  if (replacement.error().code != ErrorCode::kNotFound) {
    if (geteuid() == 0) {
      spdlog::warn("{}: the dead mount cannot be replaced in one step: {}", path_,
                   replacement.error().message);
    }
    // The bare folder is visible until the new mount is made, so that time must be short.
    if (const auto cleared = ClearDeadMounts(path_); !cleared) return Fail(cleared);
  }
  if (const auto there = FindMount(path_); there && there->type == kMountType) {
    return Fail(ErrorCode::kIo, "{} was mounted by another zarrfs in the meantime", path_);
  }
  folder_ = HoldFolder(MountFolder::Open(path_));
  return folder_ ? MakeByRoot(options) : MakeByLibfuse(options);
}

Result<Descriptor> OwnMount::MakeByRoot(const MountOptions& options) {
  Descriptor device(open("/dev/fuse", O_RDWR | O_CLOEXEC));
  if (!device) return Fail(FromErrno(errno), "/dev/fuse cannot be opened: {}", ErrnoText(errno));
  struct stat before = {};
  if (fstat(folder_->folder().get(), &before) == 0) device_before_ = before.st_dev;
  if (auto mounted = MountOn(*folder_, path_, options, device); !mounted) return Fail(mounted);
  folder_->ReleaseFolder();
  made_ = true;
  return device;
}

Result<Descriptor> OwnMount::MakeByLibfuse(const MountOptions& options) {
  struct stat before = {};
  if (stat(path_.c_str(), &before) != 0) {
    return Fail(FromErrno(errno), "mount point {} cannot be used: {}", path_, ErrnoText(errno));
  }
  device_before_ = before.st_dev;

  MountMessages messages;
  fuse_session* session = nullptr;
  const auto mount = [&](const MountOptions& with) {
    session = NewSession(with, fuse_lowlevel_ops{}, nullptr);
    made_ = session != nullptr && fuse_session_mount(session, path_.c_str()) == 0;
    return made_;
  };
  // libfuse, fusermount3 or the kernel may not know the flag nosymfollow.
  MountOptions without_links = options;
  without_links.kernel_options.emplace_back("nosymfollow");
  if (!mount(without_links)) {
    if (session != nullptr) fuse_session_destroy(session);
    messages.Forget();
    mount(options);
  }
  Descriptor device(made_ ? fcntl(fuse_session_fd(session), F_DUPFD_CLOEXEC, 0) : -1);
  const std::string reason = messages.Take();
  if (!made_) {
    if (session != nullptr) fuse_session_destroy(session);
    return Fail(ErrorCode::kIo, "{} cannot be mounted: {}", path_,
                reason.empty() ? "libfuse gave no reason" : reason);
  }
  // libfuse frees the path of a mount point only when it unmounts, so the session stays allocated,
  // without its device. The pointer is volatile, so the compiler keeps it, and leak checkers do not
  // report the session.
  [[maybe_unused]] static fuse_session* volatile kept;
  kept = session;
  close(fuse_session_fd(session));
  if (!reason.empty()) spdlog::warn("mounting: {}", reason);
  if (!device)
    return Fail(ErrorCode::kTooManyOpenFiles, "cannot mount: no file descriptors are left");
  return device;
}

bool OwnMount::IsConnected() const { return zarrfs::IsConnected(connection_); }

bool OwnMount::IsOurs(const Mounted& mounted) const {
  return device_ != 0 && mounted.device == device_ && mounted.id == mount_id_ &&
         (IsConnected() || UniqueMountId(path_) == unique_mount_id_);
}

bool OwnMount::IsOnTop() const {
  const auto top = FindMount(path_);
  return top && IsOurs(*top);
}

Result<void> OwnMount::Unmount(bool detach) const {
  if (!made_ || is_given_) return {};
  if (folder_ && mount_id_ != 0) {
    // Unmounts by the folder instead of the path, because a folder above the mount point may have
    // been renamed.
    const uint64_t top = folder_->MountIdOnTop();
    if (top == 0) return {};
    const bool is_ours =
        top == mount_id_ && (IsConnected() || UniqueMountId(path_) == unique_mount_id_);
    if (!is_ours && !IsConnected()) return {};
    if (!is_ours) return Fail(ErrorCode::kIo, "another mount covers {}", path_);
    if (folder_->Unmount(detach)) return {};
    if (errno == EBUSY) return Fail(ErrorCode::kWouldBlock, "busy");
    if (errno != EPERM) return Fail(FromErrno(errno), "{}", ErrnoText(errno));
  }
  if (device_ != 0) {
    const auto top = FindMount(path_);
    if (!top) return {};
    if (!IsOurs(*top)) return Fail(ErrorCode::kIo, "another mount covers {}", path_);
  }
  return zarrfs::Unmount(path_, detach);
}

void OwnMount::Undo() const {
  if (!replaced_dead_) static_cast<void>(Unmount(/*detach=*/true));
}

void OwnMount::ClearCovered() const {
  const auto top = covers_dead_ ? FindMount(path_) : std::nullopt;
  if (!top || top->type != kMountType || top->device == device_) return;
  if (const auto cleared = ClearDeadMounts(path_); !cleared) {
    spdlog::warn("{}: the dead mount below cannot be unmounted: {}", path_,
                 cleared.error().message);
  }
}

Result<void> OwnMount::GiveTo(const Channel& worker, const MountOptions& options) {
  Message message{Message::Kind::kMounted, {device_before_, device_}};
  if (!outlives_workers_) {
    worker.Send(message, connection_.get());
    // Only the worker may hold the device, so the connection ends with the worker.
    connection_.reset();
    return {};
  }
  Descriptor own = shared_ ? Descriptor() : Share();
  const int device = shared_ ? shared_.get() : own.get();
  if (init_.empty()) {
    if (!own) return Fail(FromErrno(errno), "/dev/fuse cannot be shared: {}", ErrnoText(errno));
    auto init = ReadInit(own);
    if (!init) return Fail(init);
    init_ = *std::move(init);
    resends_ = CanResend(init_) && !options.no_resend;
    // All workers share one open file description if the kernel can resend requests. In older
    // kernels, the requests that a worker has read fail when the last descriptor of the description
    // is closed.
    if (resends_) {
      shared_ = std::move(own);
    } else if (is_given_ && !CloneDevice(connection_)) {
      // This mount must end with its worker: the requests that the worker has read could neither be
      // resent nor fail, so readers would hang.
      outlives_workers_ = false;
    }
  } else if (answer_.empty()) {
    // The next worker may have another version of libfuse. It is offered only the features that the
    // first worker has accepted.
    answer_ = AnswerOf(options, init_);
    init_ = OnlyGiven(init_, answer_);
  }
  message.text = init_;
  message.numbers[2] = resends_ ? 1 : 0;
  worker.Send(message, device);
  if (!outlives_workers_) connection_.reset();
  return {};
}

Descriptor OwnMount::Share() const {
  if (Descriptor clone = CloneDevice(connection_); clone || !is_given_) return clone;
  // Without /dev/fuse, all workers share the open file description that the other program passed.
  return Descriptor(fcntl(connection_.get(), F_DUPFD_CLOEXEC, 0));
}

void OwnMount::Abort() const {
  if (!is_given_) AbortConnection(connection_, device_, path_);
}

void OwnMount::Close() {
  connection_.reset();
  shared_.reset();
  name_.reset();
  if (folder_) folder_->Close();
}

}  // namespace zarrfs
