// FetchPolicy: decides when a FetchServer sends requests, and what it does with the replies: which
// request is next, when it is repeated, when it fails. It has no connections and no clock; callers
// pass the time. Not thread-safe.
//
// An attempt that fails for a transient reason (no connection, a stall, a truncated response, 429,
// 5xx) is repeated after a random, growing pause, until the deadline of its request.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <random>

#include "zarrcore/base/result.h"
#include "zarrcore/net/bandwidth_limit.h"
#include "zarrcore/net/fetch_job.h"
#include "zarrcore/net/http_transfer.h"
#include "zarrcore/net/verdict.h"

namespace zarrfs {

class FetchPolicy {
 public:
  using Time = FetchJob::Clock::time_point;
  using Milliseconds = std::chrono::milliseconds;

  /// Maximum pause before the second attempt, and before later attempts.
  static constexpr Milliseconds kFirstPause{100};
  static constexpr Milliseconds kMaxPause{5000};
  /// Time limit while the store has never answered, to detect a wrong address early.
  static constexpr Milliseconds kFirstTimeout{10'000};
  /// Minimum duration of an attempt, even if its request has less time left.
  static constexpr Milliseconds kMinAttempt{1000};
  /// The interval at which missing credentials are polled.
  static constexpr Milliseconds kWaitForKey{50};
  /// One in N concurrent requests is reserved for names.
  static constexpr size_t kShareOfNames = 8;

  /// Maximum size of a request that bandwidth= takes for a name: the first bytes of a document.
  static constexpr uint64_t kMaxNameBytes = uint64_t{64} << 10;

  /// `options`: connections= and bandwidth= of the mount. `seed`: of the random pauses.
  FetchPolicy(const RemoteOptions& options, uint32_t seed)
      : connections_(options.connections), bandwidth_(options.bandwidth), random_(seed) {}

  /// The deadline of a request that arrives at `now`.
  [[nodiscard]] static Time DeadlineOf(const Origin& origin, Time now);

  /// True for requests for objects with a known version, which are for data. True also for all
  /// requests below a prefix of virtual=, because its server may be slow and some requests must
  /// remain for the store's names. Requests for names begin first.
  [[nodiscard]] static bool IsData(const FetchJob& job) {
    return job.request.is_conditional || job.request.store != 0;
  }
  /// True if another request may run. `running`: the number of running requests to all origins.
  [[nodiscard]] bool MayBegin(const FetchJob& job, size_t running) const;

  enum class Due { kLater, kNow, kTooLate };
  /// Whether to send the request of a job. The deadline of a job that bandwidth= delays moves
  /// along.
  [[nodiscard]] Due DueAt(FetchJob& job, size_t running, Time now) const;
  /// When DueAt() can change, unless a running request ends.
  [[nodiscard]] Time NextChange(const FetchJob& job, size_t running, Time now) const;
  /// The error of a job that is kTooLate: that of its last attempt.
  [[nodiscard]] static Error TooLate(const FetchJob& job);

  /// Records that the request of a job is sent.
  void OnBegin(FetchJob& job, Time now);
  /// Records that the request has ended, after `received` bytes.
  void OnEnd(FetchJob& job, uint64_t received);

  /// Records that the job has no key to sign its request with yet.
  static void WaitForKey(FetchJob& job, Time now);
  /// The time limit of an attempt that begins at `now`.
  [[nodiscard]] static Milliseconds LimitOf(const FetchJob& job, Time now);
  /// Makes the next attempt of a job, for which a cache was of no use, a request to the store.
  static void AskStore(FetchJob& job, Time now) {
    job.asks_store = true;
    job.next = now;
  }

  struct Decision {
    enum class Kind {
      kBytes,    // the reply has the requested bytes
      kVersion,  // the reply has the version that FetchJob::on_disk must be compared with
      kError,    // the request fails with `error`
      kRepeat,   // another attempt at FetchJob::next
    };
    Kind kind = Kind::kRepeat;
    Error error = {};
    /// The server refused the credentials, or requires some.
    bool is_refused = false;
  };
  /// Decides what follows from a reply of the store. `verdict`: the result of Judge(). `url`: the
  /// requested address. `unix_s`: this machine's clock. `refresh`: gets another key than the one
  /// that signed the attempt; false if none can be had.
  [[nodiscard]] Decision Decide(FetchJob& job, const HttpReply& reply, Verdict verdict,
                                std::string_view url, Time now, int64_t unix_s,
                                const std::function<bool()>& refresh);

 private:
  // True if bandwidth= applies: to data, and to first looks at objects that also fetch their data.
  [[nodiscard]] static bool IsCharged(const FetchJob& job) {
    return job.request.kind == FetchRequest::Kind::kGet && !job.on_disk &&
           (IsData(job) || job.request.range.length > kMaxNameBytes);
  }
  // True if bandwidth= delays the request. Repeated requests are charged, but do not wait.
  [[nodiscard]] bool IsDelayed(const FetchJob& job, Time now) const {
    return job.attempts == 0 && IsCharged(job) && !bandwidth_.MayBegin(now);
  }
  void Repeat(FetchJob& job, Error problem, int64_t pause_s, Time now);

  const size_t connections_;
  BandwidthLimit bandwidth_;
  std::minstd_rand random_;
};

}  // namespace zarrfs
