// One version of a zip file, with its directory, and the bytes of its members.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "zarrcore/base/lru_cache.h"
#include "zarrcore/base/memory_budget.h"
#include "zarrcore/base/result.h"
#include "zarrcore/store/store.h"
#include "zarrcore/store/validity.h"
#include "zarrcore/zip/zip_directory.h"

namespace zarrfs {

/// Immutable, except for its freshness.
struct ZipFile {
  MemoryBudget::Share memory;            // of the directory; destroyed last
  std::shared_ptr<const Object> object;  // the file
  ZipDirectory directory;
  uint64_t members_end = 0;     // offset of the directory
  mutable Freshness freshness;  // set by RevalidatingCache

  /// Reads the directory of the file `key`; kDamaged if it is no zip file.
  [[nodiscard]] static Result<std::shared_ptr<const ZipFile>> Read(const Store& container,
                                                                   std::string_view key);

  /// The attributes of a member, or of a folder.
  [[nodiscard]] ObjectInfo InfoOf(const ZipMember& member) const;
  [[nodiscard]] ObjectInfo InfoOfFolder() const;
};

/// Inflated members. Thread-safe.
class InflatedMembers {
 public:
  InflatedMembers();

  struct Bytes {
    MemoryBudget::Share memory;
    std::string bytes;
  };
  using BytesPtr = std::shared_ptr<const Bytes>;

  /// All bytes of a deflated member, whose packed bytes begin at `data` in `file`. kIo if they do
  /// not match its size and CRC; other failures as for Object::Read() or MemoryBudget::Take().
  [[nodiscard]] Result<BytesPtr> Get(const Object& file, const ZipMember& member, uint64_t data);

  /// Whether Get() has the member cached.
  [[nodiscard]] bool Has(const Object& file, const ZipMember& member);

  /// Call about once a minute: evicts the latest large member if it was not used since the last
  /// call.
  void Sweep() { cache_.SweepLatestLarge(); }

 private:
  struct Key {
    uint64_t fingerprint;  // of the file
    uint64_t header;       // of the member
    bool operator==(const Key&) const = default;
  };
  struct HashOfKey {
    size_t operator()(const Key& key) const;
  };

  static Key KeyOf(const Object& file, const ZipMember& member) {
    return {file.info().version.Fingerprint(), member.header};
  }

  LruCache<Key, Bytes, HashOfKey> cache_;
  const MemoryBudget::Holder holder_;
};

/// The offset of a member's bytes in the file. kUnsupported or kIo if it cannot be read.
[[nodiscard]] Result<uint64_t> FindZipMember(const ZipFile& zip, const ZipMember& member);

/// Reads from a member that is a file, like Store::Read(). The first 64 KiB of a member, or all of
/// a deflated member that is no larger, take one read of the file; other ranges take two. A stored
/// member of at most 64 KiB that is read as a whole is checked against its CRC. kUnsupported or kIo
/// if the member cannot be read.
[[nodiscard]] Result<ReadAnswer> ReadZipMember(const ZipFile& zip, const ZipMember& member,
                                               std::shared_ptr<InflatedMembers> inflated,
                                               ByteRange range, std::span<std::byte> out);

}  // namespace zarrfs
