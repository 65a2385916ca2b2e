// ProbedRanges: probes which shards exist in a store that cannot be listed, and caches the received
// bytes. A probe requests the index of a shard, which a reader of the shard needs first. So listing
// an array and then reading its shards requests each index once. Thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "zarrcore/array/layout.h"
#include "zarrcore/base/lru_cache.h"
#include "zarrcore/base/memory_budget.h"
#include "zarrcore/codec/codec.h"
#include "zarrcore/store/store.h"

namespace zarrfs {

class ProbedRanges {
 public:
  ProbedRanges();

  /// Returns the range that a probe requests of each object of an array: the shard index, if the
  /// objects are shards with an index of at most 4 KiB; otherwise the first byte.
  [[nodiscard]] static ByteRange RangeOf(const ArrayLayout& layout);

  /// Requests `range` of an object. Returns true if the object exists. Caches the bytes, unless
  /// `range` is one byte.
  [[nodiscard]] Result<bool> Probe(const Store& store, const std::string& key, ByteRange range);

  /// Removes the cached answer for `key`. Returns the answer if it is for exactly this `range` and
  /// the caller accepts its age; otherwise nullopt.
  [[nodiscard]] std::optional<ReadAnswer> Take(std::string_view key, ByteRange range,
                                               std::span<std::byte> out);

 private:
  struct Kept {
    ByteRange range;
    ReadAnswer answer;
    Bytes bytes;
    int64_t asked_ns;
    std::optional<int64_t> changed_ns;
    MemoryBudget::Share memory;
  };

  LruCache<std::string, Kept> kept_;
  const MemoryBudget::Holder holder_;
};

}  // namespace zarrfs
