#include "zarrcore/disk/disk_entry.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <ctime>
#include <string_view>
#include <utility>

#include "zarrcore/base/byte_order.h"
#include "zarrcore/base/crc32c.h"
#include "zarrcore/os/read_write.h"

namespace zarrfs {
namespace {

constexpr uint64_t kMagic = 0x31'65'68'63'61'63'7a'7f;  // "\x7fzcache1"
constexpr size_t kFixed = 64;
constexpr size_t kMaxHead =
    kFixed + DiskEntry::kMaxText + DiskEntry::kMaxBytes / DiskEntry::kBlock * sizeof(uint32_t);
constexpr int64_t kTouchSeconds = 60;
// Byte offsets of the numbers in the head of a cache file.
constexpr size_t kSumAt = 8, kObjectAt = 12, kEtagAt = 16, kBeginAt = 24, kLengthAt = 32,
                 kSizeAt = 40, kModifiedAt = 48;

size_t BlocksOf(uint64_t length) {
  return static_cast<size_t>((length + DiskEntry::kBlock - 1) / DiskEntry::kBlock);
}

std::span<const std::byte> BytesOf(std::string_view text) { return std::as_bytes(std::span(text)); }

uint32_t SumOfHead(std::span<const std::byte> head) {
  Crc32cSum sum;
  sum.Add(head.first(kSumAt));
  sum.Add(head.subspan(kObjectAt));
  return sum.value();
}

bool IsInBounds(const DiskEntry& entry, uint64_t texts) {
  return entry.length > 0 && entry.length <= DiskEntry::kMaxBytes && texts <= DiskEntry::kMaxText &&
         entry.begin <= entry.version.size && entry.length <= entry.version.size - entry.begin;
}

}  // namespace

std::vector<std::byte> HeadOf(const DiskEntry& entry, std::span<const std::byte> bytes) {
  const std::string& etag = entry.version.etag;
  if (!IsInBounds(entry, entry.object.size() + etag.size())) return {};
  std::vector<std::byte> head(kFixed);
  StoreLittle(head.data(), kMagic);
  StoreLittle(head.data() + kObjectAt, static_cast<uint32_t>(entry.object.size()));
  StoreLittle(head.data() + kEtagAt, static_cast<uint32_t>(etag.size()));
  StoreLittle(head.data() + kBeginAt, entry.begin);
  StoreLittle(head.data() + kLengthAt, entry.length);
  StoreLittle(head.data() + kSizeAt, entry.version.size);
  StoreLittle(head.data() + kModifiedAt, static_cast<uint64_t>(entry.version.mtime_ns));
  for (const std::string_view text : {std::string_view(entry.object), std::string_view(etag)}) {
    head.insert(head.end(), BytesOf(text).begin(), BytesOf(text).end());
  }
  for (; !bytes.empty(); bytes = bytes.subspan(std::min(DiskEntry::kBlock, bytes.size()))) {
    head.resize(head.size() + sizeof(uint32_t));
    StoreLittle(head.data() + head.size() - sizeof(uint32_t),
                Crc32c(bytes.first(std::min(DiskEntry::kBlock, bytes.size()))));
  }
  StoreLittle(head.data() + kSumAt, SumOfHead(head));
  return head;
}

std::optional<DiskEntryFile> DiskEntryFile::Open(Descriptor file) {
  struct stat status = {};
  if (!file || fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  const auto size = static_cast<uint64_t>(status.st_size);
  std::vector<std::byte> head(static_cast<size_t>(std::min<uint64_t>(size, kMaxHead)));
  if (head.size() < kFixed || !ReadAll(file, 0, head)) return std::nullopt;
  const auto number = [&](size_t at) { return LoadLittle<uint64_t>(head.data() + at); };
  const uint64_t object = LoadLittle<uint32_t>(head.data() + kObjectAt);
  const uint64_t etag = LoadLittle<uint32_t>(head.data() + kEtagAt);
  DiskEntryFile read;
  read.entry_.begin = number(kBeginAt);
  read.entry_.length = number(kLengthAt);
  read.entry_.version.size = number(kSizeAt);
  read.entry_.version.mtime_ns = static_cast<int64_t>(number(kModifiedAt));
  if (number(0) != kMagic || !IsInBounds(read.entry_, object + etag)) return std::nullopt;
  const size_t blocks = BlocksOf(read.entry_.length);
  read.bytes_at_ = kFixed + object + etag + blocks * sizeof(uint32_t);
  if (size != read.bytes_at_ + read.entry_.length) return std::nullopt;
  head.resize(static_cast<size_t>(read.bytes_at_));
  if (LoadLittle<uint32_t>(head.data() + kSumAt) != SumOfHead(head)) return std::nullopt;
  const auto* const texts = reinterpret_cast<const char*>(head.data() + kFixed);
  read.entry_.object.assign(texts, static_cast<size_t>(object));
  read.entry_.version.etag.assign(texts + object, static_cast<size_t>(etag));
  for (size_t block = 0; block < blocks; ++block) {
    read.sums_.push_back(
        LoadLittle<uint32_t>(head.data() + kFixed + object + etag + block * sizeof(uint32_t)));
  }
  read.used_s_ = status.st_mtime;
  read.file_ = std::move(file);
  return read;
}

bool DiskEntryFile::Read(uint64_t offset, std::span<std::byte> out) const {
  uint64_t at = offset - entry_.begin;
  std::vector<std::byte> part;
  while (!out.empty()) {
    const uint64_t block = at / DiskEntry::kBlock;
    const uint64_t begin = block * DiskEntry::kBlock;
    const auto length =
        static_cast<size_t>(std::min<uint64_t>(DiskEntry::kBlock, entry_.length - begin));
    const auto skipped = static_cast<size_t>(at - begin);
    const size_t taken = std::min(length - skipped, out.size());
    const bool is_whole = taken == length;
    if (!is_whole) part.resize(length);
    const std::span<std::byte> into = is_whole ? out.first(length) : std::span(part);
    if (!ReadAll(file_, bytes_at_ + begin, into)) return false;
    if (Crc32c(into) != sums_[static_cast<size_t>(block)]) return false;
    if (!is_whole) std::copy_n(part.begin() + static_cast<ptrdiff_t>(skipped), taken, out.begin());
    at += taken;
    out = out.subspan(taken);
  }
  return true;
}

void DiskEntryFile::Touch() const {
  if (std::time(nullptr) - used_s_ < kTouchSeconds) return;
  const timespec times[2] = {{0, UTIME_OMIT}, {0, UTIME_NOW}};
  futimens(file_.get(), times);
}

}  // namespace zarrfs
