// ZipFile: one version of a zip file, with its directory. InflatedMembers: a cache of the decoded
// bytes of deflated members.
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

/// One version of a zip file. Immutable, except for its freshness.
struct ZipFile {
  MemoryBudget::Share memory;            // the reservation for the directory; destroyed last
  std::shared_ptr<const Object> object;  // the zip file
  ZipDirectory directory;
  uint64_t members_end = 0;     // offset of the central directory, which follows the members
  mutable Freshness freshness;  // set by RevalidatingCache

  /// Reads the directory of the file `key`. kDamaged if the file is not a zip file.
  [[nodiscard]] static Result<std::shared_ptr<const ZipFile>> Read(const Store& container,
                                                                   std::string_view key);

  /// The attributes of a member, or of a folder.
  [[nodiscard]] ObjectInfo InfoOf(const ZipMember& member) const;
  [[nodiscard]] ObjectInfo InfoOfFolder() const;
};

/// A cache of the inflated bytes of members. Thread-safe.
class InflatedMembers {
 public:
  InflatedMembers();

  struct Bytes {
    MemoryBudget::Share memory;
    std::string bytes;
  };
  using BytesPtr = std::shared_ptr<const Bytes>;

  /// Returns all bytes of a deflated member, whose deflated bytes begin at offset `data` in `file`.
  /// kIo if the inflated bytes do not match the member's size and CRC. Also returns the errors of
  /// Object::Read() and MemoryBudget::Take().
  [[nodiscard]] Result<BytesPtr> Get(const Object& file, const ZipMember& member, uint64_t data);

  /// True if the member is cached.
  [[nodiscard]] bool Has(const Object& file, const ZipMember& member);

  /// One member larger than the whole cache may be cached. Evicts that member if it was not used
  /// since the last call. Call about once a minute.
  void Sweep() { cache_.SweepLatestLarge(); }

 private:
  struct Key {
    uint64_t fingerprint;  // the fingerprint of the zip file's version
    uint64_t header;       // the offset of the member's local header
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

/// The offset of a member's bytes in the file. kUnsupported or kIo if the member cannot be read.
[[nodiscard]] Result<uint64_t> FindZipMember(const ZipFile& zip, const ZipMember& member);

/// Reads from a member that is a file, like Store::Read(). One read of the zip file usually
/// suffices for ranges within the first 64 KiB of a stored member, and for a deflated member that
/// is cached or has at most 64 KiB of deflated bytes. Other ranges of stored members need two
/// reads. Other deflated members need one read for the header, and one for each 256 KiB. If a
/// stored member of at most 64 KiB is read whole, its CRC is checked. kUnsupported or kIo if the
/// member cannot be read.
[[nodiscard]] Result<ReadAnswer> ReadZipMember(const ZipFile& zip, const ZipMember& member,
                                               std::shared_ptr<InflatedMembers> inflated,
                                               ByteRange range, std::span<std::byte> out);

}  // namespace zarrfs
