// Descriptor: owns a file descriptor, and closes it in its destructor.
#pragma once

#include <unistd.h>

#include <cerrno>
#include <utility>

namespace zarrfs {

/// An owned descriptor. Empty (-1) by default and after a failed open(2): `Descriptor fd(open(…));
/// if (!fd) …errno…`.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(other.release()) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    if (this != &other) reset(other.release());
    return *this;
  }
  ~Descriptor() { reset(); }

  [[nodiscard]] explicit operator bool() const { return fd_ >= 0; }
  /// The number of the descriptor; -1 if empty.
  [[nodiscard]] int get() const { return fd_; }
  /// Releases ownership without closing.
  [[nodiscard]] int release() { return std::exchange(fd_, -1); }
  /// Closes the descriptor and owns `fd` instead. Leaves errno unchanged.
  void reset(int fd = -1) {
    const int error_number = errno;
    if (fd_ >= 0) close(fd_);
    errno = error_number;
    fd_ = fd;
  }

 private:
  int fd_ = -1;
};

}  // namespace zarrfs
