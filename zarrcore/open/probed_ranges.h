// ProbedRanges: keeps the bytes that were received while probing which shards exist in a store that
// cannot be listed. A probe requests the index of a shard, which a reader of the shard needs first.
// Listing an array and then its shards thus requests each index once. Thread-safe.
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

  /// The range that a probe for an object of an array requests: the index, if the object is a shard
  /// with a short index; otherwise the first byte.
  [[nodiscard]] static ByteRange RangeOf(const ArrayLayout& layout);

  /// True if the object exists. Keeps its bytes in `range`, unless `range` is one byte.
  [[nodiscard]] Result<bool> Probe(const Store& store, const std::string& key, ByteRange range);

  /// Removes the answer that is kept for `key`, and returns it if it answers exactly this request
  /// and the caller accepts its age; otherwise nullopt.
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
