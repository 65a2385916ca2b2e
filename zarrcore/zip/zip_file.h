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

/// Immutable, but for its freshness.
struct ZipFile {
  MemoryBudget::Share memory;            // of the directory (the last to be destroyed)
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

  /// All bytes of a deflated member, whose packed ones begin at `data` in `file`. kIo if they
  /// are not those of its size and CRC; else fails like Object::Read() or MemoryBudget::Take().
  [[nodiscard]] Result<BytesPtr> Get(const Object& file, const ZipMember& member, uint64_t data);

  /// Whether Get() has them already.
  [[nodiscard]] bool Has(const Object& file, const ZipMember& member);

  /// To be called every minute or so: gives up what was not used since the last time.
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

/// Where the bytes of a member begin in the file. kUnsupported or kIo where it cannot be read.
[[nodiscard]] Result<uint64_t> FindZipMember(const ZipFile& zip, const ZipMember& member);

/// Reads from a member that is a file, as Store::Read() does. The first 64 KiB of a member, or all
/// of a deflated one that is no larger, take one read of the file; anything else takes two. A
/// stored member of at most 64 KiB that is read as a whole is checked by its CRC. kUnsupported or
/// kIo where the member cannot be read.
[[nodiscard]] Result<ReadAnswer> ReadZipMember(const ZipFile& zip, const ZipMember& member,
                                               std::shared_ptr<InflatedMembers> inflated,
                                               ByteRange range, std::span<std::byte> out);

}  // namespace zarrfs
