// CountedStore: wraps a store and counts its reads and errors.
#pragma once

#include <cstdint>
#include <memory>

#include "zarrcore/base/counters.h"
#include "zarrcore/store/store.h"

namespace zarrfs {

/// Counters of the requests to a store. Thread-safe.
class StoreCounts {
 public:
  /// The number of calls of Store::Read() and Object::Read(), including failed ones.
  [[nodiscard]] uint64_t reads() const { return counters_.Sum(kReads); }
  /// The number of bytes that Store::Read() and Object::Read() have returned.
  [[nodiscard]] uint64_t read_bytes() const { return counters_.Sum(kReadBytes); }
  /// The number of calls of any kind that failed with a store error. kNotFound and kStale are not
  /// store errors.
  [[nodiscard]] uint64_t errors() const { return counters_.Sum(kErrors); }

  void Read(uint64_t bytes) {
    counters_.Add(kReads);
    counters_.Add(kReadBytes, bytes);
  }
  /// Counts a failed call. `is_read`: the call was a read.
  void Failed(const Error& error, bool is_read);

 private:
  enum Counter : uint8_t { kReads, kReadBytes, kErrors, kCounters };
  Counters<kCounters> counters_;
};

/// Wraps `store`, and counts its calls in `counts`.
[[nodiscard]] std::shared_ptr<const Store> Count(std::shared_ptr<const Store> store,
                                                 std::shared_ptr<StoreCounts> counts);

}  // namespace zarrfs
