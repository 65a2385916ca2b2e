// IcechunkVirtualObjects: reads chunks in objects of a bucket or web server, below one prefix of
// virtual=. A chunk has the version of its object. One request for the version serves all chunks of
// an object until the answer exceeds its maximum age.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <utility>

#include "zarrcore/base/result.h"
#include "zarrcore/icechunk/virtual_chunk.h"
#include "zarrcore/store/revalidating_cache.h"
#include "zarrcore/store/store.h"
#include "zarrcore/store/validity.h"

namespace zarrfs {

/// Thread-safe.
class IcechunkVirtualObjects {
 public:
  /// `store` contains the objects below the prefix; only Read() is called. `max_age`: how long a
  /// known version of an object is used without asking the store again.
  IcechunkVirtualObjects(std::shared_ptr<const Store> store, Age max_age);

  /// Like the functions of IcechunkVirtualChunks with the same names, for the object with the key
  /// `key` relative to the prefix.
  [[nodiscard]] Result<ObjectInfo> Stat(const IcechunkVirtualChunk& chunk,
                                        const std::string& key) const;
  [[nodiscard]] Result<ReadAnswer> Read(const IcechunkVirtualChunk& chunk, const std::string& key,
                                        const ByteRange& range, std::span<std::byte> out) const;

  [[nodiscard]] int64_t TimestampGranularityNs() const { return store_->TimestampGranularityNs(); }

 private:
  struct Known {
    explicit Known(std::shared_ptr<const Object> of) : object(std::move(of)) {}

    const std::shared_ptr<const Object> object;
    mutable Freshness freshness;  // set by RevalidatingCache
  };
  using KnownPtr = std::shared_ptr<const Known>;
  using Cache = RevalidatingCache<std::string, Known>;
  class Loader;
  class OneVersion;

  // Returns the version of the object `key`, from the cache or the store, if it matches the chunk's
  // reference.
  [[nodiscard]] Result<KnownPtr> Find(const IcechunkVirtualChunk& chunk,
                                      const std::string& key) const;

  const std::shared_ptr<const Store> store_;
  const Age max_age_;
  const std::shared_ptr<Cache> cache_;  // shared with OneVersion
};

}  // namespace zarrfs
