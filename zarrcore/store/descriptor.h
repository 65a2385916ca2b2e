// Descriptors of files and folders, and how they are opened and looked at safely.
#ifndef ZARRCORE_STORE_DESCRIPTOR_H_
#define ZARRCORE_STORE_DESCRIPTOR_H_

#include <linux/openat2.h>
#include <sys/types.h>
#include <unistd.h>

#include <cstdint>
#include <optional>
#include <utility>

namespace zarrfs {

/// An owned file descriptor.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Descriptor() {
    if (fd_ >= 0) close(fd_);
  }

  [[nodiscard]] int get() const { return fd_; }
  [[nodiscard]] int release() { return std::exchange(fd_, -1); }

 private:
  int fd_ = -1;
};

/// openat2(2), which glibc does not wrap, with O_CLOEXEC; -1 and errno on failure.
[[nodiscard]] int OpenAt2(int folder, const char* path, uint64_t flags, uint64_t resolve);

/// For OpenAt2(): nothing outside the folder.
inline constexpr uint64_t kBeneath = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
/// Nor through a symbolic link or into another mount.
inline constexpr uint64_t kDirectly = kBeneath | RESOLVE_NO_XDEV | RESOLVE_NO_SYMLINKS;

struct FileId {
  dev_t device = 0;
  uint64_t inode = 0;

  bool operator==(const FileId&) const = default;
};

/// What is known of a file or folder without sending its file system a request. That makes it safe
/// to ask of a mount that only this process could answer for; permissions may be out of date.
struct Glance {
  FileId id;
  uint32_t mode = 0;  // with the type
  uint32_t uid = 0;
  uint32_t gid = 0;
};

/// `name` in `folder`, or with "" that descriptor itself. A symbolic link is not followed, nothing
/// is mounted. Nothing, and errno, on failure.
[[nodiscard]] std::optional<Glance> GlanceAt(int folder, const char* name = "");

}  // namespace zarrfs

#endif  // ZARRCORE_STORE_DESCRIPTOR_H_
