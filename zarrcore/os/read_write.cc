#include "zarrcore/os/read_write.h"

#include <unistd.h>

#include <cerrno>

namespace zarrfs {
namespace {

// Reads or writes `size` bytes by calling `transfer(done)`, which continues at byte `done` and
// returns like read(2) or write(2). False, with errno set, on failure.
template <typename Transfer>
bool ForAll(size_t size, const Transfer& transfer) {
  for (size_t done = 0; done < size;) {
    const ssize_t count = TEMP_FAILURE_RETRY(transfer(done));
    if (count == 0) errno = EIO;
    if (count <= 0) return false;
    done += static_cast<size_t>(count);
  }
  return true;
}

}  // namespace

bool ReadAll(const Descriptor& file, uint64_t at, std::span<std::byte> out) {
  return ForAll(out.size(), [&](size_t done) {
    return pread(file.get(), out.data() + done, out.size() - done, static_cast<off_t>(at + done));
  });
}

bool WriteAll(const Descriptor& file, uint64_t at, std::span<const std::byte> bytes) {
  return ForAll(bytes.size(), [&](size_t done) {
    return pwrite(file.get(), bytes.data() + done, bytes.size() - done,
                  static_cast<off_t>(at + done));
  });
}

bool WriteAll(int fd, std::span<const std::byte> bytes) {
  return ForAll(bytes.size(),
                [&](size_t done) { return write(fd, bytes.data() + done, bytes.size() - done); });
}

}  // namespace zarrfs
