// DiskCache: what was fetched from buckets and web servers, in a folder, so that it need not be
// fetched again: not by another mount, nor after the next start, nor by several at once.
//
// A folder for each object, named by the digest of its address, has a file for each range
// (net/disk_entry.h), named by the version, the range, and the object's size. A file is written
// under another name first; one that is cut off or altered is found out when it is read, and
// removed. Nothing is waited for until it is on the disk: a file that a power failure cut is cut.
//
// Whatever goes wrong here costs speed alone. Thread-safe; each call waits for the disk.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "zarrcore/base/lru_cache.h"
#include "zarrcore/base/result.h"
#include "zarrcore/disk/disk_entry.h"
#include "zarrcore/disk/disk_space.h"
#include "zarrcore/os/descriptor.h"
#include "zarrcore/store/store.h"

namespace zarrfs {

/// Makes the folder unless it is there or `path` is empty. kPermissionDenied, with what to do,
/// unless it is this user's, and nobody else's to enter: who can write it decides what readers get.
[[nodiscard]] Result<void> PrepareCacheFolder(const std::string& path);

class DiskCache {
 public:
  /// `path`: a folder that PrepareCacheFolder() accepts. `capacity`: bytes.
  [[nodiscard]] static Result<std::unique_ptr<DiskCache>> Open(const std::string& path,
                                                               uint64_t capacity);

  [[nodiscard]] int folder() const { return folder_.get(); }

  /// The version of an object of which all bytes of `range` seem to be here.
  [[nodiscard]] std::optional<Version> Find(std::string_view object, ByteRange range);
  /// Whether `out` has the bytes of that version from `begin` on now. Of the version, size,
  /// mtime_ns and etag count.
  [[nodiscard]] bool Read(std::string_view object, const Version& version, uint64_t begin,
                          std::span<std::byte> out);
  /// Keeps bytes, if there is room; other versions of the object go.
  void Write(std::string_view object, const Version& version, uint64_t begin,
             std::span<const std::byte> bytes);

 private:
  // A range that is here, as its file's name says.
  struct Piece {
    uint64_t version;  // a fingerprint
    uint64_t size;     // of the object
    uint64_t begin;
    uint64_t end;
    auto operator<=>(const Piece&) const = default;  // NOLINT(modernize-use-nullptr)
  };
  // An object's folder, as it was not long ago.
  struct Listing {
    int64_t listed_ns = 0;
    std::vector<Piece> pieces = {};
  };

  DiskCache(Descriptor folder, uint64_t capacity)
      : folder_(std::move(folder)), space_(folder_, capacity) {}
  // `path`: of an object's folder, below ours. With what was written there by others, if it is
  // looked at again.
  [[nodiscard]] std::shared_ptr<const Listing> List(const std::string& path, bool again);
  void Keep(const std::string& path, Listing listing);
  // Pieces one after the other that have the bytes of `wanted`; none if there is a gap.
  [[nodiscard]] static std::vector<Piece> Cover(const Listing& listing, const Piece& wanted);
  // The piece's file, if it is what its name says; else it is removed.
  [[nodiscard]] std::optional<DiskEntryFile> OpenPiece(const std::string& path, const Piece& piece,
                                                       std::string_view object);
  void Remove(const std::string& path, const Piece& piece);
  [[nodiscard]] bool WriteFile(const std::string& path, const Piece& piece,
                               std::span<const std::byte> head, std::span<const std::byte> bytes);

  const Descriptor folder_;
  DiskSpace space_;
  LruCache<std::string, Listing> listings_{16u << 20, 1};
};

}  // namespace zarrfs
