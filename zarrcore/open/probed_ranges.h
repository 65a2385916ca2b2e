// ProbedRanges: the ranges by which a store that cannot be listed was asked whether its shards
// exist. They are the ranges that readers of the shards ask for first, their indexes, so that
// listing an array and then its shards asks for each of them once. Thread-safe.
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

  /// The range by which to ask whether an object of an array exists: that of its index if it is a
  /// shard with a short one, otherwise the first byte.
  [[nodiscard]] static ByteRange RangeOf(const ArrayLayout& layout);

  /// Whether the object exists. Keeps its bytes in `range` unless that is one byte.
  [[nodiscard]] Result<bool> Probe(const Store& store, const std::string& key, ByteRange range);

  /// The kept answer to exactly this request, which is then no longer kept; nullopt if there is
  /// none, or the caller does not accept its age.
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
