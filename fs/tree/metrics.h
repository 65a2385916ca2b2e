// Metrics: counts and durations of the kernel's requests by result; and all figures of a mount as
// Prometheus text (the file .zarrfs/metrics; docs/METRICS.md lists them).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "zarrcore/base/counters.h"
#include "zarrcore/base/lru_cache.h"

namespace zarrfs {

enum class Operation : uint8_t {
  kLookup,
  kRead,
  kReadDirectory,
  kGetAttributes,
  kOpen,
  kOpenDirectory,
  kStatFs,
  kOther,  // including everything about the status files
};
inline constexpr size_t kOperations = 8;
/// The first N operations are timed.
inline constexpr size_t kTimedOperations = 3;

enum class RequestResult : uint8_t { kOk, kAbsent, kError };
inline constexpr size_t kRequestResults = 3;

/// Names of operations and results in labels and keys.
inline constexpr std::array<std::string_view, kOperations> kOperationNames = {
    "lookup", "read", "readdir", "getattr", "open", "opendir", "statfs", "other"};
inline constexpr std::array<std::string_view, kRequestResults> kResultNames = {"ok", "absent",
                                                                               "error"};

/// Upper ends of the histograms' buckets, in nanoseconds; longer durations are in one more bucket.
inline constexpr std::array<int64_t, 19> kDurationBuckets = {
    10'000,        25'000,        50'000,        100'000,       250'000,
    500'000,       1'000'000,     2'500'000,     5'000'000,     10'000'000,
    25'000'000,    50'000'000,    100'000'000,   250'000'000,   500'000'000,
    1'000'000'000, 2'500'000'000, 5'000'000'000, 10'000'000'000};

/// Durations of the timed requests of one operation.
struct Durations {
  std::array<uint64_t, kDurationBuckets.size() + 1> counts{};  // per bucket, not cumulative
  uint64_t sum_ns = 0;
};

/// The counts of RequestMetrics so far.
struct RequestFigures {
  /// Requests answered, by operation and result.
  std::array<std::array<uint64_t, kRequestResults>, kOperations> answered{};
  std::array<Durations, kTimedOperations> durations{};
  uint64_t read_bytes = 0;
  uint64_t files_read_ahead = 0;
};

/// Per-request counters. Without locks; at most a few dozen nanoseconds on a thread that answers a
/// request. Thread-safe.
class RequestMetrics {
 public:
  /// A running request.
  struct Request {
    Operation operation;
    int64_t started_ns = 0;  // monotonic clock; 0: not timed
  };

  /// Each thread times one operation in N: reading the clock twice takes up to one fiftieth of a
  /// short request.
  static constexpr uint32_t kTimedShare = 16;

  [[nodiscard]] static Request Start(Operation operation);

  /// Call before answering. `bytes`: returned by a read.
  void End(const Request& request, RequestResult result, uint64_t bytes = 0);
  /// As End(), with the duration of a timed request.
  void EndAfter(Operation operation, int64_t duration_ns, RequestResult result, uint64_t bytes = 0);

  /// A file of `bytes` was pushed to the kernel before anybody asked for it.
  void CountPrefetch(uint64_t bytes);

  /// Sums of several counters are not a consistent snapshot.
  [[nodiscard]] RequestFigures figures() const;

 private:
  static constexpr size_t kDurations = kOperations * kRequestResults;
  static constexpr size_t kDurationCounters = kDurationBuckets.size() + 2;  // the last: the sum
  static constexpr size_t kReadBytes = kDurations + kTimedOperations * kDurationCounters;
  static constexpr size_t kFilesPrefetched = kReadBytes + 1;

  Counters<kFilesPrefetched + 1> counters_;
};

/// All figures of a mount.
struct MountFigures {
  double start_time = 0;  // seconds since 1970
  RequestFigures requests;
  CacheStatistics index_cache;
  CacheStatistics chunk_cache;
  uint64_t memory_bytes = 0;  // taken from ProcessMemory()
  uint64_t memory_limit = 0;
  uint64_t store_reads = 0;
  uint64_t store_read_bytes = 0;
  uint64_t store_errors = 0;
  uint64_t arrays = 0;
  uint64_t damage = 0;
};

/// The Prometheus text format, version 0.0.4.
[[nodiscard]] std::string MetricsText(const MountFigures& figures);

}  // namespace zarrfs
