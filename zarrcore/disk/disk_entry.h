// DiskEntry: one file of the DiskCache: bytes of a version of an object, and what they are.
//
//   head, of 64 bytes | name of the object | ETag | a CRC-32C for each kBlock bytes | the bytes
//
// All numbers are little-endian. A checksum in the head is of all that comes before the bytes. A
// file that was not written to its end, or altered since, is none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "zarrcore/os/descriptor.h"
#include "zarrcore/store/store.h"

namespace zarrfs {

struct DiskEntry {
  /// Bytes that have one checksum: what is read to give one of them.
  static constexpr size_t kBlock = 64u << 10;
  /// Bytes that it may have.
  static constexpr size_t kMaxBytes = 8u << 20;
  /// Of the object's name and its ETag together, at most.
  static constexpr size_t kMaxText = 8u << 10;

  std::string object = {};  // its address
  Version version = {};     // size, mtime_ns and etag; nothing else counts
  uint64_t begin = 0;       // of the bytes in the object
  uint64_t length = 0;

  [[nodiscard]] uint64_t end() const { return begin + length; }
};

/// All of the file but the bytes; `bytes` has entry.length of them. Empty if the entry is beyond
/// these limits, or none.
[[nodiscard]] std::vector<std::byte> HeadOf(const DiskEntry& entry,
                                            std::span<const std::byte> bytes);

/// A file that is read.
class DiskEntryFile {
 public:
  /// nullopt if it is not whole.
  [[nodiscard]] static std::optional<DiskEntryFile> Open(Descriptor file);

  [[nodiscard]] const DiskEntry& entry() const { return entry_; }
  /// The bytes of the object from `offset` on, which the entry must have. False if they are not
  /// those that were written.
  [[nodiscard]] bool Read(uint64_t offset, std::span<std::byte> out) const;
  /// From now on it was used now, unless that is known to within a minute.
  void Touch() const;

 private:
  Descriptor file_;
  DiskEntry entry_;
  std::vector<uint32_t> sums_;
  uint64_t bytes_at_ = 0;
  int64_t used_s_ = 0;
};

}  // namespace zarrfs
