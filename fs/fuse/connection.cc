#include "fs/fuse/connection.h"

#include <fcntl.h>
#include <linux/fuse.h>
#include <poll.h>
#include <spdlog/spdlog.h>
#include <sys/ioctl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <tuple>

namespace zarrfs {
namespace {

constexpr int kInitLimitMs = 1000;
constexpr size_t kMaxRequestBytes = 1 << 17;  // more than the minimum that the kernel accepts
// FUSE_NOTIFY_RESEND, FUSE_NOTIFY_INC_EPOCH, FUSE_HAS_RESEND and FUSE_INIT_EXT, which older headers
// lack.
constexpr int kNotifyResend = 7;
constexpr int kNotifyIncEpoch = 8;
constexpr uint64_t kHasResend = uint64_t{1} << 39;
constexpr uint32_t kInitExtended = 1u << 30;
constexpr size_t kFlags2At = 16;  // the offset of `flags2` in fuse_init_in

// Before 3.17 libfuse accepts FUSE_CAP_PARALLEL_DIROPS but does not pass it to the kernel.
constexpr bool kLibraryForgets = FUSE_VERSION < FUSE_MAKE_VERSION(3, 17);
// The number of the FUSE_INIT that is being answered, if it offers parallel lookups; otherwise 0.
// The kernel never reuses numbers.
uint64_t init_number = 0;

// Reads a request. First touches all pages of the buffer to which a name may be copied. While a
// process is being killed, the kernel cannot copy a request to an untouched page. The request would
// fail with EIO, which readers treat as an absent chunk.
ssize_t ReadRequest(int fd, void* buffer, size_t size, void*) {
  constexpr size_t kLargest = 4096;  // the maximum size of a request with a name
  volatile char* const bytes = static_cast<char*>(buffer);
  if (size >= kLargest) {
    bytes[0] = 0;
    bytes[kLargest - 1] = 0;
  }
  return read(fd, buffer, size);
}

void AllowParallelLookups(iovec* parts, int count) {
  const auto* header = static_cast<const fuse_out_header*>(parts[0].iov_base);
  if (init_number != 0 && header->unique == init_number && header->error == 0 && count == 2 &&
      parts[1].iov_len >= FUSE_COMPAT_22_INIT_OUT_SIZE) {
    static_cast<fuse_init_out*>(parts[1].iov_base)->flags |= FUSE_PARALLEL_DIROPS;
  }
}

ssize_t WriteAnswer(int fd, iovec* parts, int count, void*) {
  AllowParallelLookups(parts, count);
  return writev(fd, parts, count);
}

// Stores the answer for AnswerTo() instead of sending it.
ssize_t KeepAnswer(int, iovec* parts, int count, void* kept) {
  AllowParallelLookups(parts, count);
  const auto* header = static_cast<const fuse_out_header*>(parts[0].iov_base);
  if (count == 2 && header->error == 0) {
    static_cast<std::string*>(kept)->assign(static_cast<const char*>(parts[1].iov_base),
                                            parts[1].iov_len);
  }
  return header->len;
}

// Makes a session read requests by ReadRequest() and send replies by `give`. False if libfuse
// refuses.
bool WriteBy(ssize_t (*give)(int, iovec*, int, void*), fuse_session* session, int fd) {
  fuse_custom_io io{};
  io.read = ReadRequest;
  io.writev = give;
  return fuse_session_custom_io(session, &io, fd) == 0;
}

struct Init {
  fuse_in_header header = {};
  fuse_init_in body = {};
};

// Sends a notification without a body.
bool Notify(int device, int code) {
  fuse_out_header message{};
  message.len = sizeof message;
  message.error = code;
  return write(device, &message, sizeof message) == sizeof message;
}

// Parses a FUSE_INIT request. False if the message is no FUSE_INIT.
bool Parse(std::string_view message, Init& init) {
  if (message.size() < sizeof init.header + kFlags2At) return false;
  std::memcpy(&init.header, message.data(), sizeof init.header);
  message.remove_prefix(sizeof init.header);
  message.copy(reinterpret_cast<char*>(&init.body), sizeof init.body);
  return init.header.opcode == FUSE_INIT;
}

void Process(fuse_session* session, std::string_view init, const Init& parsed) {
  std::string message(init);
  fuse_buf buffer = {};
  buffer.mem = message.data();
  buffer.size = message.size();
  const bool offers = (parsed.body.flags & FUSE_PARALLEL_DIROPS) != 0;
  init_number = kLibraryForgets && offers ? parsed.header.unique : 0;
  fuse_session_process_buf(session, &buffer);
  init_number = 0;
}

}  // namespace

uint32_t MaxBackground(uint32_t connections) {
  constexpr uint32_t kMin = 64;
  return std::max(kMin, 2 * connections);
}

void Negotiate(fuse_conn_info& connection, uint32_t connections) {
  constexpr unsigned kWanted = FUSE_CAP_NO_OPEN_SUPPORT | FUSE_CAP_ASYNC_READ |
                               FUSE_CAP_PARALLEL_DIROPS | FUSE_CAP_READDIRPLUS |
                               FUSE_CAP_READDIRPLUS_AUTO | FUSE_CAP_EXPORT_SUPPORT;
  // The content of an inode never changes, so a changed mtime must not invalidate its cached pages.
  // Plain reads are faster than splicing, regardless of the size of a READ.
  constexpr unsigned kNotWanted = FUSE_CAP_AUTO_INVAL_DATA | FUSE_CAP_SPLICE_READ |
                                  FUSE_CAP_SPLICE_WRITE | FUSE_CAP_SPLICE_MOVE;
  connection.want = (connection.want | (connection.capable & kWanted)) & ~kNotWanted;
  connection.max_read = kMaxRead;
  connection.max_readahead = kMaxRead;
  connection.max_background = MaxBackground(connections);
  connection.congestion_threshold = connection.max_background / 4 * 3;
  connection.time_gran = 1;
}

Result<std::string> ReadInit(const Descriptor& device) {
  pollfd wait = {device.get(), POLLIN, 0};
  std::string message(kMaxRequestBytes, '\0');
  ssize_t length = -1;
  errno = ETIMEDOUT;
  if (TEMP_FAILURE_RETRY(poll(&wait, 1, kInitLimitMs)) > 0) {
    length = TEMP_FAILURE_RETRY(read(device.get(), message.data(), message.size()));
  }
  if (length < 0)
    return Fail(FromErrno(errno), "the kernel sent no FUSE_INIT: {}", ErrnoText(errno));
  message.resize(static_cast<size_t>(length));
  Init init;
  if (!Parse(message, init)) {
    return Fail(ErrorCode::kIo, "expected FUSE_INIT as the kernel's first message, found opcode {}",
                init.header.opcode);
  }
  return message;
}

void AnswerInit(fuse_session* session, std::string_view init) {
  Init parsed;
  if (!Parse(init, parsed)) return;
  if (kLibraryForgets && !WriteBy(WriteAnswer, session, fuse_session_fd(session))) {
    spdlog::warn(
        "libfuse refused custom I/O, so names of one folder are looked up one after the other");
  }
  Process(session, init, parsed);
}

void AnswerTo(fuse_session* session, std::string_view init) {
  Init parsed;
  Descriptor nowhere(open("/dev/null", O_RDWR | O_CLOEXEC));
  if (!Parse(init, parsed) || !nowhere || !WriteBy(KeepAnswer, session, nowhere.get())) return;
  static_cast<void>(nowhere.release());  // libfuse owns the descriptor now
  Process(session, init, parsed);
}

std::string DifferentPromise(std::string_view then, std::string_view now) {
  const auto parse = [](std::string_view answer) {
    fuse_init_out parsed{};
    answer.copy(reinterpret_cast<char*>(&parsed), sizeof parsed);
    return parsed;
  };
  if (then.size() < FUSE_COMPAT_22_INIT_OUT_SIZE || now.size() < FUSE_COMPAT_22_INIT_OUT_SIZE) {
    return fmt::format("the answers to FUSE_INIT differ in size: {} and {} bytes", then.size(),
                       now.size());
  }
  const fuse_init_out before = parse(then);
  const fuse_init_out after = parse(now);
  // A later session must answer the same in these fields. The other fields, such as max_background,
  // may differ.
  const std::tuple<std::string_view, uint32_t, uint32_t> fields[] = {
      {"major", before.major, after.major},
      {"minor", before.minor, after.minor},
      {"flags", before.flags, after.flags},
      {"flags2", before.flags2, after.flags2},
      {"max_write", before.max_write, after.max_write},
      {"max_pages", before.max_pages, after.max_pages},
      {"time_gran", before.time_gran, after.time_gran},
      {"map_alignment", before.map_alignment, after.map_alignment}};
  for (const auto& [name, old_value, new_value] : fields) {
    if (old_value != new_value)
      return fmt::format("{} {:#x}, not {:#x}", name, new_value, old_value);
  }
  return "";
}

std::string OnlyGiven(std::string_view init, std::string_view answer) {
  std::string narrowed(init);
  Init parsed;
  if (!Parse(init, parsed) || answer.size() < FUSE_COMPAT_22_INIT_OUT_SIZE) return narrowed;
  fuse_init_out given{};
  answer.copy(reinterpret_cast<char*>(&given), sizeof given);
  const auto keep = [&](size_t at, uint32_t kept) {
    uint32_t flags = 0;
    const size_t begin = sizeof parsed.header + at;
    if (narrowed.size() < begin + sizeof flags) return;
    std::memcpy(&flags, narrowed.data() + begin, sizeof flags);
    flags &= kept;
    std::memcpy(narrowed.data() + begin, &flags, sizeof flags);
  };
  // The flag FUSE_INIT_EXT only says that `flags2` exists; it offers no feature.
  keep(offsetof(fuse_init_in, flags), given.flags | kInitExtended);
  keep(kFlags2At, given.flags2);
  return narrowed;
}

Descriptor CloneDevice(const Descriptor& device) {
  Descriptor clone(open("/dev/fuse", O_RDWR | O_CLOEXEC));
  auto original = static_cast<uint32_t>(device.get());
  if (clone && ioctl(clone.get(), FUSE_DEV_IOC_CLONE, &original) != 0) clone.reset();
  return clone;
}

bool CanResend(std::string_view init) {
  Init parsed;
  uint32_t flags2 = 0;
  if (!Parse(init, parsed) || (parsed.body.flags & kInitExtended) == 0 ||
      init.size() < sizeof parsed.header + kFlags2At + sizeof flags2) {
    return false;
  }
  std::memcpy(&flags2, init.data() + sizeof parsed.header + kFlags2At, sizeof flags2);
  return (uint64_t{flags2} << 32 & kHasResend) != 0;
}

void Resend(int device) {
  if (!Notify(device, kNotifyResend)) {
    spdlog::warn("the kernel cannot resend requests that the last worker had read: {}",
                 ErrnoText(errno));
  }
}

bool IncEpoch(int device) { return Notify(device, kNotifyIncEpoch); }

bool IsConnected(const Descriptor& device) {
  pollfd state = {device.get(), 0, 0};
  return device && poll(&state, 1, 0) >= 0 && (state.revents & POLLERR) == 0;
}

}  // namespace zarrfs
