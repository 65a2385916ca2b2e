#include "zarrcore/local/local_files.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstring>
#include <utility>

#include "zarrcore/store/store.h"

namespace zarrfs {
namespace {

constexpr uint64_t kToRead = O_RDONLY | O_NONBLOCK | O_NOCTTY;
constexpr uint64_t kToList = kToRead | O_DIRECTORY;

// If nothing is watched, the path of the root is looked up again after this period.
constexpr std::chrono::milliseconds kRootCheckPeriod{10};

// The error for a file of the wrong type. A folder where an object is expected, or an object where
// a folder is expected, counts as absent. A socket, FIFO or device exists, but cannot be read.
tl::unexpected<Error> FailForType(std::string_view key, uint32_t mode) {
  if (S_ISREG(mode)) return Fail(ErrorCode::kNotFound, "{}: a file, not a folder", key);
  if (S_ISDIR(mode)) return Fail(ErrorCode::kNotFound, "{}: a folder, not a file", key);
  return Fail(ErrorCode::kUnsupported, "{}: neither a regular file nor a folder", key);
}

// True if this process may not open the folder although its user may, because the sandbox forbids
// it. access(2) ignores the sandbox.
bool IsOutOfReach(int folder) {
  return !OpenAt2(folder, ".", kToList, kBeneath) && errno == EACCES &&
         faccessat(folder, ".", R_OK | X_OK, AT_EACCESS) == 0;
}

}  // namespace

tl::unexpected<Error> FailWithErrno(std::string_view key, int error_number) {
  return Fail(FromErrno(error_number), "{}: {}", key, ErrnoText(error_number));
}

std::shared_ptr<const Descriptor> LocalFiles::root() {
  if (path_.empty()) return root_;
  const MutexLock lock(root_mutex_);
  const FolderWatch* const watch = this->watch();
  const uint64_t count = watch != nullptr ? watch->change_count() : 0;
  const auto now = std::chrono::steady_clock::now();
  const bool is_current =
      watch != nullptr ? root_count_ == count : now - root_checked_ < kRootCheckPeriod;
  if (is_current) return root_;
  root_count_ = count;
  root_checked_ = now;
  Descriptor found(open(path_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  struct stat old_status, status;
  if (!found || fstat(found.get(), &status) != 0 || fstat(root_->get(), &old_status) != 0 ||
      (status.st_dev == old_status.st_dev && status.st_ino == old_status.st_ino)) {
    return root_;
  }
  const auto forbidden = devices_.Zarrfs();
  if (!forbidden || std::ranges::find(*forbidden, status.st_dev) != forbidden->end()) return root_;
  if (on_out_of_reach_ && IsOutOfReach(found.get())) {
    on_out_of_reach_();
    return root_;
  }
  root_ = std::make_shared<const Descriptor>(std::move(found));
  return root_;
}

Result<Opened> LocalFiles::Open(std::string_view key, Purpose purpose) {
  if (!IsValidKey(key)) return Fail(ErrorCode::kInvalidArgument, "\"{}\": not a valid key", key);
  Result<Opened> opened = OpenOnce(key, purpose);
  if (!opened && opened.error().code == ErrorCode::kTooManyOpenFiles) {
    // Close the cached descriptors, because the process has no free descriptors.
    open_files_.Clear();
    opened = OpenOnce(key, purpose);
  }
  return opened;
}

Result<Opened> LocalFiles::OpenOnce(std::string_view key, Purpose purpose) {
  const std::shared_ptr<const Descriptor> root = this->root();
  std::array<char, PATH_MAX> path;
  std::optional<Result<Opened>> opened;
  if (key.size() < path.size()) {
    std::memcpy(path.data(), key.data(), key.size());
    path[key.size()] = '\0';
    opened = OpenDirectly(key, key.empty() ? "." : path.data(), root->get(), purpose);
  }
  if (!opened) {
    opened = OpenByWalking(key, root, purpose);
  } else if (*opened && rules_.restrict_modes && purpose != Purpose::kList) {
    const auto folders = modes_.Above(root->get(), key, watch(), *rules_.access_lists);
    const struct stat& status = (*opened)->status;
    (*opened)->mode_mask = ModeMask(*folders, status.st_uid, status.st_gid, rules_.reader);
  }
  if (*opened && rules_.restrict_modes && purpose != Purpose::kList) {
    Opened& found = **opened;
    found.mode_mask &= rules_.access_lists->MaskOf(found.get(), "", found.status, key);
  }
  // Lookups below a deleted root find nothing. The result must not look like missing chunks.
  if (struct stat status; !*opened && opened->error().code == ErrorCode::kNotFound &&
                          fstat(root->get(), &status) == 0 && status.st_nlink == 0) {
    return Fail(ErrorCode::kIo, "{}: the store's folder was deleted", key);
  }
  return *std::move(opened);
}

std::optional<Result<Opened>> LocalFiles::OpenDirectly(std::string_view key, const char* path,
                                                       int root, Purpose purpose) {
  Opened opened;
  opened.fd = OpenAt2(root, path, purpose == Purpose::kList ? kToList : O_PATH, kDirectly);
  if (!opened.fd && (errno == ELOOP || errno == EXDEV)) return std::nullopt;
  if (!opened.fd) return FailToOpen(key, errno);
  if (purpose == Purpose::kList) return opened;
  if (purpose == Purpose::kRead) {
    const auto glance = GlanceAt(opened.get());
    if (!glance) return FailWithErrno(key, errno);
    if (!S_ISREG(glance->mode)) return FailForType(key, glance->mode);
    opened.fd = Reopen(opened.get(), kToRead);
    if (!opened.fd) return FailWithErrno(key, errno);
  }
  if (fstat(opened.get(), &opened.status) != 0) return FailWithErrno(key, errno);
  const bool is_wanted = S_ISREG(opened.status.st_mode) ||
                         (purpose == Purpose::kLook && S_ISDIR(opened.status.st_mode));
  if (!is_wanted) return FailForType(key, opened.status.st_mode);
  return opened;
}

Result<Opened> LocalFiles::OpenByWalking(std::string_view key,
                                         std::shared_ptr<const Descriptor> root, Purpose purpose) {
  const auto walked = WalkPath(rules_, devices_, root, key);
  if (!walked) return Fail(walked);
  const bool is_wanted = (S_ISREG(walked->type) && purpose != Purpose::kList) ||
                         (S_ISDIR(walked->type) && purpose != Purpose::kRead);
  if (!is_wanted) return FailForType(key, walked->type);
  const int found = walked->fd->get();
  Opened opened{.fd = purpose == Purpose::kLook
                          ? Descriptor(fcntl(found, F_DUPFD_CLOEXEC, 0))
                          : Reopen(found, purpose == Purpose::kList ? kToList : kToRead),
                .directly = false,
                .mode_mask = walked->mode_mask,
                .status = {}};
  if (!opened.fd || fstat(opened.get(), &opened.status) != 0) return FailWithErrno(key, errno);
  return opened;
}

}  // namespace zarrfs
