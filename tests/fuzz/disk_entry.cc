// Input: a file of the disk cache. The target corrects the checksum of its head. A valid file must
// contain the bytes that its head describes, and must be the same when it is encoded again.
#include "zarrcore/disk/disk_entry.h"

#include <sys/mman.h>
#include <unistd.h>

#include "tests/fuzz/fuzzing.h"
#include "zarrcore/base/byte_order.h"
#include "zarrcore/base/crc32c.h"
#include "zarrcore/os/read_write.h"

namespace zarrfs {
namespace {

constexpr size_t kFixed = 64, kSumAt = 8, kObjectAt = 12, kEtagAt = 16, kLengthAt = 32;

void MendChecksum(std::span<std::byte> file) {
  if (file.size() < kFixed) return;
  const uint64_t blocks = LoadLittle<uint64_t>(file.data() + kLengthAt) / DiskEntry::kBlock + 1;
  const uint64_t head = kFixed + uint64_t{LoadLittle<uint32_t>(file.data() + kObjectAt)} +
                        LoadLittle<uint32_t>(file.data() + kEtagAt) + blocks * sizeof(uint32_t);
  if (head > file.size()) return;
  Crc32cSum sum;
  sum.Add(file.first(kSumAt));
  sum.Add(file.first(static_cast<size_t>(head)).subspan(kObjectAt));
  StoreLittle(file.data() + kSumAt, sum.value());
}

void Check(std::vector<std::byte> bytes) {
  MendChecksum(bytes);
  Descriptor fd(memfd_create("entry", MFD_CLOEXEC));
  if (!fd || !WriteAll(fd, 0, bytes)) return;
  const auto file = DiskEntryFile::Open(std::move(fd));
  if (!file) return;
  const DiskEntry& entry = file->entry();
  const std::string_view input(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  Require(entry.length > 0 && entry.length < bytes.size(), "bytes that are in the file", input);
  std::vector<std::byte> all(static_cast<size_t>(entry.length)), last(1);
  if (!file->Read(entry.begin, all)) return;
  Require(file->Read(entry.end() - 1, last) && last[0] == all.back(), "the last byte", input);
  auto again = HeadOf(entry, all);
  again.insert(again.end(), all.begin(), all.end());
  Require(again.size() == bytes.size() && std::ranges::equal(std::span(again).subspan(kFixed),
                                                             std::span(bytes).subspan(kFixed)),
          "the same file", input);
}

}  // namespace
}  // namespace zarrfs

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  zarrfs::Check({bytes.begin(), bytes.end()});
  return 0;
}
