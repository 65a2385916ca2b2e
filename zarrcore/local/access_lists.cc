#include "zarrcore/local/access_lists.h"

#include <fmt/format.h>
#include <sys/xattr.h>

#include <array>
#include <cerrno>
#include <utility>

#include "zarrcore/base/byte_order.h"

namespace zarrfs {
namespace {

// The format of the extended attribute: a version, then entries of a tag, permissions and an id.
// See linux/posix_acl_xattr.h.
constexpr uint32_t kVersion = 2;
constexpr size_t kHead = 4;
constexpr size_t kEntry = 8;
enum Tag : uint16_t {
  kOwner = 0x01,
  kUser = 0x02,
  kOwningGroup = 0x04,
  kGroup = 0x08,
  kMask = 0x10,
  kOther = 0x20
};

constexpr uint32_t kOwnerAlone = 0700;
constexpr uint32_t kAll = 0777;

}  // namespace

uint32_t MaskOfAccessList(std::span<const std::byte> list) {
  if (list.size() < kHead || (list.size() - kHead) % kEntry != 0) return kOwnerAlone;
  if (LoadLittle<uint32_t>(list.data()) != kVersion) return kOwnerAlone;
  constexpr uint32_t kBits = 07;
  uint32_t group = 0;
  uint32_t other = 0;
  uint32_t mask = kBits;
  uint32_t named = kBits;
  bool has_named = false;
  for (size_t at = kHead; at < list.size(); at += kEntry) {
    const uint32_t bits = LoadLittle<uint16_t>(list.data() + at + 2) & kBits;
    switch (LoadLittle<uint16_t>(list.data() + at)) {
      case kOwner:
        break;
      case kOwningGroup:
        group = bits;
        break;
      case kOther:
        other = bits;
        break;
      case kMask:
        mask = bits;
        break;
      case kUser:
      case kGroup:
        named &= bits;
        has_named = true;
        break;
      default:
        return kOwnerAlone;
    }
  }
  if (has_named) {
    group &= named;
    other &= named & mask;
  }
  return kOwnerAlone | (group & mask) << 3 | other;
}

uint32_t AccessLists::MaskOf(int fd, std::string_view below, const struct stat& status,
                             std::string_view key) {
  // If neither the group nor others have rights, an access control list cannot remove any.
  if ((status.st_mode & 077) == 0) return kAll;
  {
    const MutexLock lock(mutex_);
    if (without_any_.contains(status.st_dev)) return kAll;
  }
  constexpr const char* kName = "system.posix_acl_access";
  std::string path = fmt::format("/proc/self/fd/{}", fd);
  std::array<std::byte, 4096> list;
  ssize_t length = 0;
  if (below.empty()) {
    length = getxattr(path.c_str(), kName, list.data(), list.size());
  } else {
    path += '/';
    path += below;
    length = lgetxattr(path.c_str(), kName, list.data(), list.size());
  }
  uint32_t mask = kOwnerAlone;
  if (length >= 0) {
    mask = MaskOfAccessList(std::span(list).first(static_cast<size_t>(length)));
  } else if (errno == ENODATA) {
    return kAll;
  } else if (errno == EOPNOTSUPP) {
    const MutexLock lock(mutex_);
    without_any_.insert(status.st_dev);
    return kAll;
  }
  const bool takes_some = (status.st_mode & 0777 & ~mask) != 0;
  if (takes_some && report_ && !reported_.exchange(true)) report_(key);
  return mask;
}

}  // namespace zarrfs
