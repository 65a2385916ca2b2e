// DiskEntry: describes one file of a DiskCache, which contains a range of an object's bytes:
//
//   head, of 64 bytes | name of the object | ETag | a CRC-32C for each kBlock bytes | the bytes
//
// All numbers are little-endian. A checksum in the head covers everything before the bytes.
// Incomplete or altered files are ignored.
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
  /// Number of bytes per checksum. Reading any byte of a block reads the whole block.
  static constexpr size_t kBlock = 64u << 10;
  /// Maximum number of an object's bytes in one file.
  static constexpr size_t kMaxBytes = 8u << 20;
  /// Maximum length of the object's name and its ETag together.
  static constexpr size_t kMaxText = 8u << 10;

  std::string object = {};  // the address of the object
  Version version = {};     // only size, mtime_ns and etag are compared and stored
  uint64_t begin = 0;       // the offset in the object at which the cached bytes begin
  uint64_t length = 0;

  [[nodiscard]] uint64_t end() const { return begin + length; }
};

/// Encodes everything in the file before the object's bytes. `bytes`: the object's bytes; there
/// must be entry.length of them. Returns an empty vector if the entry exceeds the limits of
/// DiskEntry or has no bytes.
[[nodiscard]] std::vector<std::byte> HeadOf(const DiskEntry& entry,
                                            std::span<const std::byte> bytes);

/// A file of the cache that is open for reading.
class DiskEntryFile {
 public:
  /// Reads and checks the head of a file. Returns nullopt if the file is incomplete or altered.
  [[nodiscard]] static std::optional<DiskEntryFile> Open(Descriptor file);

  [[nodiscard]] const DiskEntry& entry() const { return entry_; }
  /// Reads the object's bytes from `offset` on. The whole range must be in the entry. Returns false
  /// if the bytes cannot be read, or differ from the bytes that were written.
  [[nodiscard]] bool Read(uint64_t offset, std::span<std::byte> out) const;
  /// Sets the file's time of last use to now, unless that time is less than a minute old.
  void Touch() const;

 private:
  Descriptor file_;
  DiskEntry entry_;
  std::vector<uint32_t> sums_;
  uint64_t bytes_at_ = 0;
  int64_t used_s_ = 0;
};

}  // namespace zarrfs
