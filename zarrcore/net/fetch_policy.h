// FetchPolicy: decides when a FetchServer sends, repeats or fails a request, and what each reply
// means for the request. It has no connections and no clock; callers pass the time. Not
// thread-safe.
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
  /// Time limit of requests before the store's first response, to detect a wrong address early.
  static constexpr Milliseconds kFirstTimeout{10'000};
  /// An attempt may take at least this long, even if the deadline of its request is earlier.
  static constexpr Milliseconds kMinAttempt{1000};
  /// How often a request checks whether the credentials that it waits for have been found.
  static constexpr Milliseconds kWaitForKey{50};
  /// One in N concurrent requests is reserved for listings and metadata; see IsData().
  static constexpr size_t kShareOfNames = 8;

  /// bandwidth= does not limit requests of at most this many bytes that are not for data
  /// (IsData()), such as one for the first bytes of a document.
  static constexpr uint64_t kMaxNameBytes = uint64_t{64} << 10;

  /// `options`: only connections= and bandwidth= are used. `seed`: the seed of the random pauses.
  FetchPolicy(const RemoteOptions& options, uint32_t seed)
      : connections_(options.connections), bandwidth_(options.bandwidth), random_(seed) {}

  /// Returns the deadline of a request that arrives at `now`.
  [[nodiscard]] static Time DeadlineOf(const Origin& origin, Time now);

  /// True if a job requests data: part of an object with a known version. All other requests are
  /// for names, and begin first. Requests below a prefix of virtual= count as data, because the
  /// prefix's server may be slow and must not use up the requests that are reserved for names.
  [[nodiscard]] static bool IsData(const FetchJob& job) {
    return job.request.is_conditional || job.request.store != 0;
  }
  /// True if the limits on concurrent requests allow sending the request of a job. `running`: the
  /// number of running requests to all origins.
  [[nodiscard]] bool MayBegin(const FetchJob& job, size_t running) const;

  enum class Due { kLater, kNow, kTooLate };
  /// Decides whether to send the request of a job now. Extends the deadline of a job that
  /// bandwidth= delays.
  [[nodiscard]] Due DueAt(FetchJob& job, size_t running, Time now) const;
  /// The earliest time when DueAt() may return another result, unless a running request ends
  /// before.
  [[nodiscard]] Time NextChange(const FetchJob& job, size_t running, Time now) const;
  /// Returns the error of a job for which DueAt() returns kTooLate: that of its last attempt, or
  /// kTimedOut if it has none.
  [[nodiscard]] static Error TooLate(const FetchJob& job);

  /// Must be called when the request of a job is sent.
  void OnBegin(FetchJob& job, Time now);
  /// Must be called when the request of a job has ended, after `received` bytes.
  void OnEnd(FetchJob& job, uint64_t received);

  /// Delays a job whose signing key is not available yet.
  static void WaitForKey(FetchJob& job, Time now);
  /// Returns the time limit of an attempt that begins at `now`.
  [[nodiscard]] static Milliseconds LimitOf(const FetchJob& job, Time now);
  /// Makes a job, whose request to a cache failed, try the store at `now`.
  static void AskStore(FetchJob& job, Time now) {
    job.asks_store = true;
    job.next = now;
  }

  struct Decision {
    enum class Kind {
      kBytes,    // the reply has the requested bytes
      kVersion,  // the reply has the version that FetchJob::on_disk must be compared with
      kError,    // the request fails with `error`
      kRepeat,   // the request must be sent again at FetchJob::next
    };
    Kind kind = Kind::kRepeat;
    Error error = {};
    /// True if the server refused the credentials, or requires credentials.
    bool is_refused = false;
  };
  /// Decides what a reply of the store means for its job. `verdict`: the result of Judge(). `url`:
  /// the requested address. `unix_s`: the Unix time on this machine's clock. `refresh`: replaces
  /// the key that signed the attempt; returns false if no other key is available.
  [[nodiscard]] Decision Decide(FetchJob& job, const HttpReply& reply, Verdict verdict,
                                std::string_view url, Time now, int64_t unix_s,
                                const std::function<bool()>& refresh);

 private:
  // True if bandwidth= applies to a job: the job reads data, or reads more than kMaxNameBytes of an
  // object without a known version. Listings and version checks are not charged.
  [[nodiscard]] static bool IsCharged(const FetchJob& job) {
    return job.request.kind == FetchRequest::Kind::kGet && !job.on_disk &&
           (IsData(job) || job.request.range.length > kMaxNameBytes);
  }
  // True if bandwidth= delays a job. Repeated attempts are charged, but do not wait.
  [[nodiscard]] bool IsDelayed(const FetchJob& job, Time now) const {
    return job.attempts == 0 && IsCharged(job) && !bandwidth_.MayBegin(now);
  }
  void Repeat(FetchJob& job, Error problem, int64_t pause_s, Time now);

  const size_t connections_;
  BandwidthLimit bandwidth_;
  std::minstd_rand random_;
};

}  // namespace zarrfs
