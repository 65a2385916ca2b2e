// DiskCache: a folder that caches ranges fetched from buckets and web servers. All mounts share the
// folder, and it survives restarts, so the ranges need not be fetched again. Thread-safe. Each call
// waits for the disk.
//
// Each object has a folder, whose name is the digest of the object's address. The folder has one
// file per cached range (disk/disk_entry.h), named after the object's version, the range, and the
// object's size. Each file is first written under a temporary name. A truncated or altered file is
// detected when it is read, and then removed. Nothing is synced, so a power failure may truncate a
// file. A failure of the cache never fails a read; it only makes the read slower.
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

/// Creates the cache's folder if necessary, and checks the folder. Does nothing if `path` is empty.
/// Fails with kPermissionDenied, with advice, unless the folder belongs to this user and nobody
/// else can enter it. A user who can write to the cache controls the bytes that readers get.
[[nodiscard]] Result<void> PrepareCacheFolder(const std::string& path);

class DiskCache {
 public:
  /// `path`: a folder that PrepareCacheFolder() has accepted. `capacity`: the maximum disk space in
  /// bytes.
  [[nodiscard]] static Result<std::unique_ptr<DiskCache>> Open(const std::string& path,
                                                               uint64_t capacity);

  [[nodiscard]] int folder() const { return folder_.get(); }

  /// Returns a version of the object for which the names of cache files cover `range`, or nullopt
  /// if there is none. A later Read() may still fail.
  [[nodiscard]] std::optional<Version> Find(std::string_view object, ByteRange range);
  /// Fills `out` with the bytes of the object's `version` from `begin` on. Returns false if these
  /// bytes are not cached. The version is identified by size, mtime_ns and etag.
  [[nodiscard]] bool Read(std::string_view object, const Version& version, uint64_t begin,
                          std::span<std::byte> out);
  /// Caches bytes of an object, if the disk space suffices, and removes other versions of the
  /// object.
  void Write(std::string_view object, const Version& version, uint64_t begin,
             std::span<const std::byte> bytes);

 private:
  // A cached range, parsed from its file's name.
  struct Piece {
    uint64_t version;  // the fingerprint of the object's version
    uint64_t size;     // the size of the object
    uint64_t begin;
    uint64_t end;
    auto operator<=>(const Piece&) const = default;  // NOLINT(modernize-use-nullptr)
  };
  // A listing of an object's folder, cached in memory.
  struct Listing {
    int64_t listed_ns = 0;
    std::vector<Piece> pieces = {};
  };

  DiskCache(Descriptor folder, uint64_t capacity)
      : folder_(std::move(folder)), space_(folder_, capacity) {}
  // Lists the cached ranges of an object. `path`: the object's folder, relative to the cache's
  // folder. Uses a listing in memory if one exists. With `again`, that listing must be younger than
  // a second, so files written by other processes are found.
  [[nodiscard]] std::shared_ptr<const Listing> List(const std::string& path, bool again);
  void Keep(const std::string& path, Listing listing);
  // Returns cached ranges that together cover `wanted`, or none if a byte of `wanted` is not
  // cached.
  [[nodiscard]] static std::vector<Piece> Cover(const Listing& listing, const Piece& wanted);
  // Opens the file of a cached range. Returns nullopt if the file cannot be opened. Also returns
  // nullopt, and removes the file, if its head does not match its name and `object`.
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
