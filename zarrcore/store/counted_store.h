// CountedStore: another store, whose reads are counted.
#ifndef ZARRCORE_STORE_COUNTED_STORE_H_
#define ZARRCORE_STORE_COUNTED_STORE_H_

#include <cstdint>
#include <memory>

#include "zarrcore/base/counters.h"
#include "zarrcore/store/store.h"

namespace zarrfs {

/// What was asked of a store. Thread-safe.
class StoreCounts {
 public:
  /// Store::Read() and Object::Read(), also those that found nothing or failed.
  [[nodiscard]] uint64_t reads() const { return counters_.Sum(kReads); }
  /// Bytes that they gave.
  [[nodiscard]] uint64_t read_bytes() const { return counters_.Sum(kReadBytes); }
  /// Calls of any kind that the store could not answer. That there is no such object, or not this
  /// version of it any more, is an answer.
  [[nodiscard]] uint64_t errors() const { return counters_.Sum(kErrors); }

  void Read(uint64_t bytes) {
    counters_.Add(kReads);
    counters_.Add(kReadBytes, bytes);
  }
  /// `is_read`: what failed was a read.
  void Failed(const Error& error, bool is_read);

 private:
  enum Counter : uint8_t { kReads, kReadBytes, kErrors, kCounters };
  Counters<kCounters> counters_;
};

/// `store`, counting in `counts`.
[[nodiscard]] std::shared_ptr<const Store> Count(std::shared_ptr<const Store> store,
                                                 std::shared_ptr<StoreCounts> counts);

}  // namespace zarrfs

#endif  // ZARRCORE_STORE_COUNTED_STORE_H_
