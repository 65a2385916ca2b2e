// Metrics: how often the kernel asked, what it was told and how long that took; and all figures of
// a mount as Prometheus text (the file .zarrfs/metrics; docs/METRICS.md lists them).
#ifndef FS_TREE_METRICS_H_
#define FS_TREE_METRICS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "zarrcore/base/counters.h"
#include "zarrcore/base/lru_cache.h"
#include "zarrcore/store/counted_store.h"

namespace zarrfs {

enum class Operation : uint8_t {
  kLookup,
  kRead,
  kReadDirectory,
  kGetAttributes,
  kOpen,
  kOpenDirectory,
  kStatFs,
  kOther,  // also whatever is about the status files
};
inline constexpr size_t kOperations = 8;
/// The first so many are timed.
inline constexpr size_t kTimedOperations = 3;

enum class RequestResult : uint8_t { kOk, kAbsent, kError };
inline constexpr size_t kRequestResults = 3;

/// What is counted of requests. Costs no lock, and on a thread that answers a request no more than
/// a few dozen nanoseconds. Thread-safe.
class RequestMetrics {
 public:
  /// A request under way.
  struct Request {
    Operation operation;
    int64_t started_ns = 0;  // monotonic clock; 0: not timed
  };

  /// Upper ends of the histograms' buckets, in nanoseconds; longer ones are in a last bucket.
  static constexpr std::array<int64_t, 19> kBuckets = {
      10'000,        25'000,        50'000,        100'000,       250'000,
      500'000,       1'000'000,     2'500'000,     5'000'000,     10'000'000,
      25'000'000,    50'000'000,    100'000'000,   250'000'000,   500'000'000,
      1'000'000'000, 2'500'000'000, 5'000'000'000, 10'000'000'000};
  /// Of the timed operations, one in so many is timed on each thread: reading the clock twice takes
  /// up to a fiftieth of the time of a short request.
  static constexpr uint32_t kTimedShare = 16;

  [[nodiscard]] static Request Start(Operation operation);

  /// About to be answered. `bytes` that a read gives.
  void End(const Request& request, RequestResult result, uint64_t bytes = 0);
  /// As End(), with the duration of a request that is timed.
  void EndAfter(Operation operation, int64_t duration_ns, RequestResult result, uint64_t bytes = 0);

  [[nodiscard]] uint64_t requests(Operation operation, RequestResult result) const;
  /// A file of `bytes` was given to the kernel before anybody asked for it.
  void CountReadAhead(uint64_t bytes);

  [[nodiscard]] uint64_t read_bytes() const { return counters_.Sum(kReadBytes); }
  [[nodiscard]] uint64_t files_read_ahead() const { return counters_.Sum(kFilesReadAhead); }

  struct Durations {
    std::array<uint64_t, kBuckets.size() + 1> counts{};  // of each bucket alone
    uint64_t sum_ns = 0;
  };
  /// `operation`: a timed one.
  [[nodiscard]] Durations durations(Operation operation) const;

 private:
  static constexpr size_t kDurations = kOperations * kRequestResults;
  static constexpr size_t kDurationCounters = kBuckets.size() + 2;  // the last: the sum
  static constexpr size_t kReadBytes = kDurations + kTimedOperations * kDurationCounters;
  static constexpr size_t kFilesReadAhead = kReadBytes + 1;

  void CountDuration(Operation operation, int64_t duration_ns);

  Counters<kFilesReadAhead + 1> counters_;
};

/// Everything that .zarrfs/metrics tells.
struct MountFigures {
  double start_time = 0;  // seconds since 1970
  CacheStatistics index_cache;
  CacheStatistics chunk_cache;
  uint64_t arrays = 0;
  uint64_t damage = 0;
};

/// The Prometheus text format, version 0.0.4.
[[nodiscard]] std::string MetricsText(const RequestMetrics& requests, const StoreCounts& store,
                                      const MountFigures& figures);

}  // namespace zarrfs

#endif  // FS_TREE_METRICS_H_
