// Metrics: counts of the kernel's requests by operation and result, durations by operation, and all
// figures of a mount in the Prometheus format (the file .zarrfs/metrics; docs/METRICS.md lists the
// figures).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "zarrcore/base/counters.h"
#include "zarrcore/base/lru_cache.h"
#include "zarrcore/net/fetch_channel.h"

namespace zarrfs {

enum class Operation : uint8_t {
  kLookup,
  kRead,
  kReadDirectory,
  kGetAttributes,
  kOpen,
  kOpenDirectory,
  kStatFs,
  kOther,  // including all requests for the status files
};
inline constexpr size_t kOperations = 8;
/// The first kTimedOperations members of Operation are timed.
inline constexpr size_t kTimedOperations = 3;

enum class RequestResult : uint8_t { kOk, kAbsent, kError };
inline constexpr size_t kRequestResults = 3;

/// The names of operations and results in metric labels and status.json keys.
inline constexpr std::array<std::string_view, kOperations> kOperationNames = {
    "lookup", "read", "readdir", "getattr", "open", "opendir", "statfs", "other"};
inline constexpr std::array<std::string_view, kRequestResults> kResultNames = {"ok", "absent",
                                                                               "error"};

/// The upper ends of the buckets of duration histograms, in nanoseconds. Longer durations are
/// counted in one more bucket.
inline constexpr std::array<int64_t, 19> kDurationBuckets = {
    10'000,        25'000,        50'000,        100'000,       250'000,
    500'000,       1'000'000,     2'500'000,     5'000'000,     10'000'000,
    25'000'000,    50'000'000,    100'000'000,   250'000'000,   500'000'000,
    1'000'000'000, 2'500'000'000, 5'000'000'000, 10'000'000'000};

/// The durations of the timed requests of one operation.
struct Durations {
  // The number of durations in each bucket, not cumulative.
  std::array<uint64_t, kDurationBuckets.size() + 1> counts{};
  uint64_t sum_ns = 0;
};

/// The values of all counters of RequestMetrics.
struct RequestFigures {
  /// Requests answered, by operation and result.
  std::array<std::array<uint64_t, kRequestResults>, kOperations> answered{};
  std::array<Durations, kTimedOperations> durations{};
  uint64_t read_bytes = 0;
  uint64_t files_read_ahead = 0;
};

/// Counts requests without locks. Takes at most a few dozen nanoseconds on a thread that answers a
/// request. Thread-safe.
class RequestMetrics {
 public:
  /// A running request.
  struct Request {
    Operation operation;
    int64_t started_ns = 0;  // the time of the monotonic clock; 0 if the request is not timed
  };

  /// Each thread times one operation in kTimedShare, because reading the clock twice takes up to
  /// one fiftieth of a short request.
  static constexpr uint32_t kTimedShare = 16;

  [[nodiscard]] static Request Start(Operation operation);

  /// Counts a request. Call before the reply is sent. `bytes`: the bytes that a read returns.
  void End(const Request& request, RequestResult result, uint64_t bytes = 0);
  /// Like End(), for a timed request that took `duration_ns`.
  void EndAfter(Operation operation, int64_t duration_ns, RequestResult result, uint64_t bytes = 0);

  /// Counts a file of `bytes` bytes that was pushed to the kernel before the kernel requested it.
  void CountPrefetch(uint64_t bytes);

  /// Returns the counts. They are not a consistent snapshot.
  [[nodiscard]] RequestFigures figures() const;

 private:
  static constexpr size_t kDurations = kOperations * kRequestResults;
  // For each timed operation: one counter per bucket, and one more for the sum of all durations.
  static constexpr size_t kDurationCounters = kDurationBuckets.size() + 2;
  static constexpr size_t kReadBytes = kDurations + kTimedOperations * kDurationCounters;
  static constexpr size_t kFilesPrefetched = kReadBytes + 1;

  Counters<kFilesPrefetched + 1> counters_;
};

/// All figures of a mount.
struct MountFigures {
  double start_time = 0;  // in seconds since 1970
  RequestFigures requests;
  CacheStatistics index_cache;
  CacheStatistics chunk_cache;
  uint64_t memory_bytes = 0;  // bytes reserved in ProcessMemory()
  uint64_t memory_limit = 0;
  uint64_t store_reads = 0;
  uint64_t store_read_bytes = 0;
  uint64_t store_errors = 0;
  std::optional<FetchCounts> network = {};  // nullopt for a store in a folder
  uint64_t arrays = 0;
  uint64_t damage = 0;
};

/// Writes the figures in the Prometheus text format, version 0.0.4.
[[nodiscard]] std::string MetricsText(const MountFigures& figures);

}  // namespace zarrfs
