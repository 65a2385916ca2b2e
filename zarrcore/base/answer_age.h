// Decides per thread which earlier answers of a store are accepted, and records the age of those
// that were used.
//
// A store that remembers answers (open/recent_answers.h) calls IsAccepted() before it returns a
// remembered answer, and NoteAnswer() when it returns one. A thread without an AcceptedAnswers
// scope accepts none. A cache of values made from answers counts their age from OldestAnswer::Or(),
// so caching a value a second time does not make it younger.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>
#include <optional>

namespace zarrfs {

/// The maximum time since a cached answer was checked. kAnyAge: the answer is not revalidated.
using Age = std::chrono::nanoseconds;
inline constexpr Age kAnyAge = Age::max();

/// For slow stores: how long an answer is reused regardless of max_age, unless max_age is 0. Grows
/// with the age of the object.
struct AnswerReuse {
  double share_of_age = 0;  // fraction of the time since the object's last change; 0: never reused
  Age most{0};

  /// How long an answer about an object that last changed at `ctime_ns` may be reused.
  [[nodiscard]] Age For(int64_t ctime_ns) const;
};

namespace internal {
inline constexpr int64_t kNever = std::numeric_limits<int64_t>::max();
// All times are from SteadyNowNs().
struct AnswerAges {
  int64_t begun_ns = kNever;  // when the request began; kNever if no answer is accepted
  Age max_age{0};
  AnswerReuse reuse;
  int64_t oldest_ns = kNever;  // when the oldest answer that was used was requested
};
inline thread_local AnswerAges answer_ages;
}  // namespace internal

/// A scope in which the current thread, and those of AtOnce(), accept remembered answers: answers
/// requested since the scope began, and older ones up to `max_age` or as long as `reuse` allows.
class AcceptedAnswers {
 public:
  /// The scope of one request. Inside another scope, it can only restrict that scope.
  AcceptedAnswers(Age max_age, AnswerReuse reuse);
  /// Restricts the enclosing scope, if one exists. With `max_age` 0, only answers requested from
  /// now on are accepted.
  explicit AcceptedAnswers(Age max_age);
  ~AcceptedAnswers();
  AcceptedAnswers(const AcceptedAnswers&) = delete;
  AcceptedAnswers& operator=(const AcceptedAnswers&) = delete;

 private:
  const internal::AnswerAges before_;
};

/// True if the current thread accepts an answer that was requested at `asked_ns`. `changed_ns`:
/// when the object last changed (Version::ctime_ns); nullopt if it does not exist, or if a later
/// version may be indistinguishable.
[[nodiscard]] bool IsAccepted(int64_t asked_ns, std::optional<int64_t> changed_ns);

/// Records that the current thread uses an answer that was requested at `asked_ns`.
inline void NoteAnswer(int64_t asked_ns) {
  internal::answer_ages.oldest_ns = std::min(internal::answer_ages.oldest_ns, asked_ns);
}

/// A scope that records the age of the answers that the current thread uses in it.
class OldestAnswer {
 public:
  OldestAnswer() : before_ns_(internal::answer_ages.oldest_ns) {
    internal::answer_ages.oldest_ns = internal::kNever;
  }
  ~OldestAnswer() { NoteAnswer(before_ns_); }
  OldestAnswer(const OldestAnswer&) = delete;
  OldestAnswer& operator=(const OldestAnswer&) = delete;

  /// When the oldest answer of the current scope was requested, or `otherwise` if that is earlier.
  [[nodiscard]] static int64_t Or(int64_t otherwise) {
    return std::min(internal::answer_ages.oldest_ns, otherwise);
  }

 private:
  const int64_t before_ns_;
};

}  // namespace zarrfs
