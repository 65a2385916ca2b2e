// DiskCache: a folder with ranges fetched from buckets and web servers, shared by all mounts and
// kept across restarts, so that they need not be fetched again.
//
// A folder for each object, named by the digest of its address, has a file for each range
// (disk/disk_entry.h), named by the version, the range, and the object's size. A file is written
// under another name first; a truncated or altered one is detected when it is read, and removed.
// Nothing is synced: a power failure may truncate a file.
//
// Failures cost only speed. Thread-safe; each call waits for the disk.
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

/// Creates the folder if necessary; does nothing if `path` is empty. kPermissionDenied, with
/// advice, unless it belongs to this user and nobody else can enter it: a writer of the cache
/// controls what readers get.
[[nodiscard]] Result<void> PrepareCacheFolder(const std::string& path);

class DiskCache {
 public:
  /// `path`: a folder that PrepareCacheFolder() accepts. `capacity`: bytes.
  [[nodiscard]] static Result<std::unique_ptr<DiskCache>> Open(const std::string& path,
                                                               uint64_t capacity);

  [[nodiscard]] int folder() const { return folder_.get(); }

  /// The version of an object for which all bytes of `range` seem to be cached.
  [[nodiscard]] std::optional<Version> Find(std::string_view object, ByteRange range);
  /// Fills `out` with the bytes of that version from `begin` on; false if that is impossible. The
  /// version is identified by size, mtime_ns and etag.
  [[nodiscard]] bool Read(std::string_view object, const Version& version, uint64_t begin,
                          std::span<std::byte> out);
  /// Keeps bytes, if there is room; other versions of the object are removed.
  void Write(std::string_view object, const Version& version, uint64_t begin,
             std::span<const std::byte> bytes);

 private:
  // A cached range, parsed from its file's name.
  struct Piece {
    uint64_t version;  // a fingerprint
    uint64_t size;     // of the object
    uint64_t begin;
    uint64_t end;
    auto operator<=>(const Piece&) const = default;  // NOLINT(modernize-use-nullptr)
  };
  // A recent listing of an object's folder.
  struct Listing {
    int64_t listed_ns = 0;
    std::vector<Piece> pieces = {};
  };

  DiskCache(Descriptor folder, uint64_t capacity)
      : folder_(std::move(folder)), space_(folder_, capacity) {}
  // `path`: of an object's folder, below ours. `again` lists it anew to find files of other
  // processes.
  [[nodiscard]] std::shared_ptr<const Listing> List(const std::string& path, bool again);
  void Keep(const std::string& path, Listing listing);
  // Adjacent pieces that cover `wanted`; empty if there is a gap.
  [[nodiscard]] static std::vector<Piece> Cover(const Listing& listing, const Piece& wanted);
  // The piece's file, if it matches its name; else it is removed.
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
