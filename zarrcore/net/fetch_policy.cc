#include "zarrcore/net/fetch_policy.h"

#include <algorithm>
#include <cstdlib>
#include <string>
#include <utility>

#include "zarrcore/net/redirection.h"

namespace zarrfs {
namespace {

using std::chrono::milliseconds;

// After a server has rejected the time of a signature, the request is repeated only if the
// corrected clock differs from the one used by at least this many seconds.
constexpr int64_t kSameClock = 10;

}  // namespace

FetchPolicy::Time FetchPolicy::DeadlineOf(const Origin& origin, Time now) {
  const milliseconds timeout = std::chrono::seconds(origin.source.options.timeout);
  return now + (origin.has_answered ? timeout : std::min(timeout, kFirstTimeout));
}

bool FetchPolicy::MayBegin(const FetchJob& job, size_t running) const {
  const auto may_begin = [&](size_t count, size_t limit) {
    const size_t for_names = limit == 1 ? 0 : std::max<size_t>(limit / kShareOfNames, 1);
    return count < limit - (IsData(job) ? for_names : 0);
  };
  return may_begin(running, connections_) && may_begin(job.origin.running, job.origin.limit.now());
}

FetchPolicy::Due FetchPolicy::DueAt(FetchJob& job, size_t running, Time now) const {
  if (IsDelayed(job, now)) {
    job.deadline = DeadlineOf(job.origin, now);
    return Due::kLater;
  }
  if (now >= job.deadline) return Due::kTooLate;
  return MayBegin(job, running) && now >= job.next ? Due::kNow : Due::kLater;
}

FetchPolicy::Time FetchPolicy::NextChange(const FetchJob& job, size_t running, Time now) const {
  if (!MayBegin(job, running)) return job.deadline;
  return std::min(job.deadline, IsDelayed(job, now) ? bandwidth_.next() : job.next);
}

Error FetchPolicy::TooLate(const FetchJob& job) {
  Error error = job.problem;
  if (error.message.empty()) {
    error = {ErrorCode::kTimedOut, job.origin.Name(job.request) + ": no answer in time"};
  } else if (job.attempts > 1) {
    error.message += fmt::format(", {} times", job.attempts);
  }
  return error;
}

void FetchPolicy::OnBegin(FetchJob& job, Time now) {
  ++job.attempts;
  job.begun = now;
  job.clock_error_s = job.origin.clock_error_s;
  if (!IsCharged(job)) return;
  job.charged = job.request.range.length;
  bandwidth_.Charge(job.charged, now);
}

void FetchPolicy::OnEnd(FetchJob& job, uint64_t received) {
  bandwidth_.Correct(std::exchange(job.charged, 0), IsCharged(job) ? received : 0);
}

void FetchPolicy::WaitForKey(FetchJob& job, Time now) {
  job.problem = {ErrorCode::kTimedOut, job.origin.Name(job.request) +
                                           ": no credentials yet (credential_process, metadata)"};
  job.next = now + kWaitForKey;
}

milliseconds FetchPolicy::LimitOf(const FetchJob& job, Time now) {
  return std::max(std::chrono::ceil<milliseconds>(job.deadline - now), kMinAttempt);
}

FetchPolicy::Decision FetchPolicy::Decide(FetchJob& job, const HttpReply& reply, Verdict verdict,
                                          std::string_view url, Time now, int64_t unix_s,
                                          const std::function<bool()>& refresh) {
  using Kind = Decision::Kind;
  Origin& origin = job.origin;
  const bool is_list = job.request.kind == FetchRequest::Kind::kList;
  if (reply.status != 0) origin.has_answered = true;
  if (Follows(reply, verdict, url, job)) return {};
  const bool is_elsewhere = std::exchange(job.redirections, 0) > 0;
  const bool has_secrets =
      !is_elsewhere && (!origin.source.is_virtual || origin.source.has_credentials());
  Decision decision;
  decision.is_refused = has_secrets && (reply.status == 401 || reply.status == 403);
  const auto fail = [&](Error error) {
    decision.kind = Kind::kError;
    decision.error = std::move(error);
    return decision;
  };
  const auto repeat = [&](int64_t pause_s) {
    Repeat(job, std::move(verdict.error), pause_s, now);
    return decision;
  };
  const bool is_final =
      verdict.kind == Verdict::Kind::kBytes || verdict.kind == Verdict::Kind::kError;
  if (verdict.slow_down || is_final) origin.limit.Count(verdict.slow_down, job.begun, now);
  switch (verdict.kind) {
    case Verdict::Kind::kBytes:
      decision.kind = job.on_disk ? Kind::kVersion : Kind::kBytes;
      return decision;
    case Verdict::Kind::kError:
      // A 404 for a listing does not prove that the folder is empty.
      if (is_list && verdict.error.code == ErrorCode::kNotFound) {
        verdict.error.code = ErrorCode::kPermissionDenied;
      }
      if (verdict.error.code == ErrorCode::kStale) {
        origin.route.OnReplaced(origin.UrlOf(job.request), job.request.condition, now);
      }
      return fail(std::move(verdict.error));
    case Verdict::Kind::kNoRange:
      if (is_list || std::exchange(job.no_range, true)) {
        return fail({ErrorCode::kIo, origin.Name(job.request) + ": invalid range"});
      }
      job.on_disk.reset();
      job.next = now;
      return decision;
    case Verdict::Kind::kOtherTime:
      // Compares with the clock error that this request assumed, because another request may have
      // corrected the origin's clock error in the meantime.
      if (reply.date_s > 0) origin.clock_error_s = reply.date_s - unix_s;
      if (reply.date_s == 0 || std::abs(job.clock_error_s - origin.clock_error_s) < kSameClock) {
        return fail(std::move(verdict.error));
      }
      return repeat(0);
    case Verdict::Kind::kOtherKey:
      return refresh() ? repeat(0) : fail(std::move(verdict.error));
    case Verdict::Kind::kAgain:
      return repeat(reply.retry_after_s);
  }
  return decision;
}

void FetchPolicy::Repeat(FetchJob& job, Error problem, int64_t pause_s, Time now) {
  job.problem = std::move(problem);
  const auto most = std::min(kMaxPause, kFirstPause * (1 << std::min(job.attempts, 8)));
  std::uniform_int_distribution<int64_t> pause(most.count() / 4, most.count());
  job.next = now + std::max(milliseconds(pause(random_)), milliseconds(pause_s * 1000));
}

}  // namespace zarrfs
