// IcechunkVirtualChunks: reads chunks in files outside their repository, only below the prefixes
// that the user names (virtual_prefix.h).
//
// Such a file may change or disappear, so a reference holds its ETag and the time of its last
// change. Another ETag or a later change is an error; an earlier change is not. A chunk has the
// owner, permissions and times of its file. The permissions of a local file are reduced to those
// that all folders above it grant, up to the root of the machine. Symbolic links below a prefix are
// followed only if they end below it. Objects of buckets and web servers are read through one Store
// per prefix.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "zarrcore/base/result.h"
#include "zarrcore/icechunk/virtual_chunk.h"
#include "zarrcore/icechunk/virtual_prefix.h"
#include "zarrcore/local/local_store.h"
#include "zarrcore/store/store.h"
#include "zarrcore/store/validity.h"

namespace zarrfs {

class IcechunkVirtualObjects;

/// Adds the prefix `text`, unless `prefixes` contains it. kInvalidArgument if it is malformed, or
/// kMaxVirtualPrefixes exist already.
[[nodiscard]] Result<void> AddVirtualPrefix(std::string_view text,
                                            std::vector<VirtualPrefix>& prefixes);

/// Reads virtual chunks. Thread-safe.
class IcechunkVirtualChunks {
 public:
  using StorePtr = std::shared_ptr<const Store>;

  /// `options` are those of the repository's folder; their link policy is ignored. `networked` has
  /// the stores of the prefixes that are not local, in the order of `prefixes`. `max_age`: see
  /// IcechunkVirtualObjects. A folder that cannot be opened is tried again at its next use.
  IcechunkVirtualChunks(std::vector<VirtualPrefix> prefixes, const LocalStoreOptions& options,
                        const std::vector<StorePtr>& networked = {}, Age max_age = Age{0});
  IcechunkVirtualChunks(const IcechunkVirtualChunks&) = delete;
  IcechunkVirtualChunks& operator=(const IcechunkVirtualChunks&) = delete;
  ~IcechunkVirtualChunks();

  using Chunk = IcechunkVirtualChunk;
  // If the chunk's file is missing, ends early or differs from the reference, Stat() and Read()
  // fail with kIo, never with kNotFound. If the prefixes do not allow reading the chunk's
  // location, Read() fails with kUnsupported.

  /// Returns the attributes of a chunk; nullopt if the prefixes do not allow reading its
  /// location.
  [[nodiscard]] Result<std::optional<ObjectInfo>> Stat(const Chunk& chunk) const;
  [[nodiscard]] Result<ReadAnswer> Read(const Chunk& chunk, const ByteRange& range,
                                        std::span<std::byte> out) const;

  /// True if every chunk is read as fast as from a local disk, because no networked store is open.
  [[nodiscard]] bool AnswersFast() const { return objects_.empty(); }
  /// The coarsest timestamp granularity, in nanoseconds, of the networked stores and the open
  /// folders; 0 if there are no such stores or folders.
  [[nodiscard]] int64_t TimestampGranularityNs() const;
  void CloseIdle() const;

 private:
  class Folder;
  struct Place {
    Folder* folder = nullptr;  // exactly one of `folder` and `objects` is set
    const IcechunkVirtualObjects* objects = nullptr;
    std::string key;
  };
  [[nodiscard]] Result<Place> Find(const Chunk& chunk) const;

  const std::vector<VirtualPrefix> prefixes_;
  // Both maps are keyed by the index of the prefix in `prefixes_`.
  std::map<size_t, std::unique_ptr<Folder>> folders_;
  std::map<size_t, std::unique_ptr<const IcechunkVirtualObjects>> objects_;
};

}  // namespace zarrfs
