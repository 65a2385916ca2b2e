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

  /// `options`: the options for the repository's folder; their link policy is not used. A folder
  /// that cannot be opened is tried again at its next use. `networked`: the stores of the prefixes
  /// that are not local, in the same order. `max_age`: see IcechunkVirtualObjects.
  IcechunkVirtualChunks(std::vector<VirtualPrefix> prefixes, const LocalStoreOptions& options,
                        const std::vector<StorePtr>& networked = {}, Age max_age = Age{0});
  IcechunkVirtualChunks(const IcechunkVirtualChunks&) = delete;
  IcechunkVirtualChunks& operator=(const IcechunkVirtualChunks&) = delete;
  ~IcechunkVirtualChunks();

  using Chunk = IcechunkVirtualChunk;
  // Stat() and Read() fail with kIo if the file is missing, ends early or differs from the
  // reference, and never with kNotFound. If the location may not be read, Read() fails with
  // kUnsupported.

  /// Returns nullopt if the location may not be read.
  [[nodiscard]] Result<std::optional<ObjectInfo>> Stat(const Chunk& chunk) const;
  [[nodiscard]] Result<ReadAnswer> Read(const Chunk& chunk, const ByteRange& range,
                                        std::span<std::byte> out) const;

  /// True if every chunk is read as fast as from a local disk (Store::AnswersFast).
  [[nodiscard]] bool AnswersFast() const { return objects_.empty(); }
  /// The coarsest timestamp granularity of the stores and of the file systems of the open folders;
  /// 0 if there are none.
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
  // Keyed by the index of the prefix.
  std::map<size_t, std::unique_ptr<Folder>> folders_;
  std::map<size_t, std::unique_ptr<const IcechunkVirtualObjects>> objects_;
};

}  // namespace zarrfs
