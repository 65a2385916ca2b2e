#include "fs/fuse/parallel_lookups.h"

#include <linux/fuse.h>
#include <spdlog/spdlog.h>
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstring>

namespace zarrfs {

#if FUSE_VERSION < FUSE_MAKE_VERSION(3, 17)

namespace {

// The kernel's first message, if it offers parallel lookups. It is answered before any other
// message comes; its number is never used again.
std::atomic<uint64_t> init_number = 0;

ssize_t ReadRequest(int fd, void* buffer, size_t size, void*) {
  const ssize_t length = read(fd, buffer, size);
  fuse_in_header header;
  fuse_init_in init;
  if (length < static_cast<ssize_t>(sizeof header + sizeof init)) return length;
  std::memcpy(&header, buffer, sizeof header);
  if (header.opcode != FUSE_INIT) return length;
  std::memcpy(&init, static_cast<char*>(buffer) + sizeof header, sizeof init);
  if ((init.flags & FUSE_PARALLEL_DIROPS) != 0) init_number = header.unique;
  return length;
}

ssize_t WriteAnswer(int fd, iovec* parts, int count, void*) {
  const auto* header = static_cast<const fuse_out_header*>(parts[0].iov_base);
  if (const uint64_t number = init_number.load(std::memory_order_relaxed);
      number != 0 && header->unique == number && header->error == 0 && count == 2 &&
      parts[1].iov_len >= FUSE_COMPAT_22_INIT_OUT_SIZE) {
    static_cast<fuse_init_out*>(parts[1].iov_base)->flags |= FUSE_PARALLEL_DIROPS;
    init_number = 0;
  }
  return writev(fd, parts, count);
}

}  // namespace

void AllowParallelLookups(fuse_session* session) {
  fuse_custom_io io{};
  io.read = ReadRequest;
  io.writev = WriteAnswer;
  if (fuse_session_custom_io(session, &io, fuse_session_fd(session)) != 0) {
    spdlog::warn("names of one folder are looked up one after the other: libfuse refuses");
  }
}

#else

void AllowParallelLookups(fuse_session*) {}

#endif

}  // namespace zarrfs
