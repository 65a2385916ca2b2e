// Records, per thread, which remembered answers of a store the thread accepts, and the age of the
// oldest answer that it has used.
//
// A store that remembers answers (open/recent_answers.h) calls IsAccepted() before it returns a
// remembered answer, and NoteAnswer() when it returns one. A thread without an AcceptedAnswers
// scope accepts no remembered answers. A cache of values computed from answers dates each value by
// OldestAnswer::Or(), the time when the oldest of these answers was requested. So caching a value
// again does not make it younger.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>
#include <optional>

namespace zarrfs {

/// A limit for the age of a cached answer, which is the time since the answer was last validated.
/// With kAnyAge, a cached answer is used without revalidation.
using Age = std::chrono::nanoseconds;
inline constexpr Age kAnyAge = Age::max();

/// How long an answer of a slow store may be reused even if it is older than the request's max_age.
/// Has no effect if max_age is 0. This time grows with the age of the object.
struct AnswerReuse {
  double share_of_age = 0;  // fraction of the time since the object's last change; 0 disables reuse
  Age most{0};

  /// Returns how long an answer about an object that last changed at `ctime_ns` may be reused.
  [[nodiscard]] Age For(int64_t ctime_ns) const;
};

namespace internal {
inline constexpr int64_t kNever = std::numeric_limits<int64_t>::max();
// Which answers the current thread accepts, and the oldest that it has used. All times are from
// SteadyNowNs().
struct AnswerAges {
  int64_t begun_ns = kNever;  // when the AcceptedAnswers scope began; kNever outside a scope
  Age max_age{0};
  AnswerReuse reuse;
  int64_t oldest_ns = kNever;  // when the oldest answer used so far was requested
};
inline thread_local AnswerAges answer_ages;
}  // namespace internal

/// A scope in which the current thread, and the threads that AtOnce() starts in the scope, accept
/// remembered answers. Answers requested since the scope began are accepted. Older answers are
/// accepted up to an age of `max_age`, or as long as `reuse` allows.
class AcceptedAnswers {
 public:
  /// Opens the scope of one request. A scope inside another scope cannot accept answers that the
  /// outer scope does not accept.
  AcceptedAnswers(Age max_age, AnswerReuse reuse);
  /// Makes the enclosing scope stricter. Has no effect outside a scope. With `max_age` 0, only
  /// answers requested from now on are accepted.
  explicit AcceptedAnswers(Age max_age);
  ~AcceptedAnswers();
  AcceptedAnswers(const AcceptedAnswers&) = delete;
  AcceptedAnswers& operator=(const AcceptedAnswers&) = delete;

 private:
  const internal::AnswerAges before_;
};

/// True if the current thread accepts an answer that was requested at `asked_ns`. `changed_ns`:
/// when the object last changed (Version::ctime_ns); nullopt if the object does not exist, or if a
/// later version may be indistinguishable from the version in the answer.
[[nodiscard]] bool IsAccepted(int64_t asked_ns, std::optional<int64_t> changed_ns);

/// Records that the current thread used an answer from the store. `asked_ns`: when the answer was
/// requested.
inline void NoteAnswer(int64_t asked_ns) {
  internal::answer_ages.oldest_ns = std::min(internal::answer_ages.oldest_ns, asked_ns);
}

/// A scope that records which of the answers used by the current thread was requested first. When
/// the scope ends, that time also counts in the enclosing scope.
class OldestAnswer {
 public:
  OldestAnswer() : before_ns_(internal::answer_ages.oldest_ns) {
    internal::answer_ages.oldest_ns = internal::kNever;
  }
  ~OldestAnswer() { NoteAnswer(before_ns_); }
  OldestAnswer(const OldestAnswer&) = delete;
  OldestAnswer& operator=(const OldestAnswer&) = delete;

  /// Returns when the oldest answer used in the current scope was requested, or `otherwise` if that
  /// is earlier or no answer was used.
  [[nodiscard]] static int64_t Or(int64_t otherwise) {
    return std::min(internal::answer_ages.oldest_ns, otherwise);
  }

 private:
  const int64_t before_ns_;
};

}  // namespace zarrfs
