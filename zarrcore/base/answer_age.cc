#include "zarrcore/base/answer_age.h"

#include <algorithm>

#include "zarrcore/base/clocks.h"

namespace zarrfs {

using internal::answer_ages;

Age AnswerReuse::For(int64_t ctime_ns) const {
  if (share_of_age == 0) return Age{0};
  const auto age = static_cast<double>(std::max<int64_t>(RealNowNs() - ctime_ns, 0));
  return Age(static_cast<int64_t>(std::min(age * share_of_age, static_cast<double>(most.count()))));
}

AcceptedAnswers::AcceptedAnswers(Age max_age, AnswerReuse reuse) : before_(answer_ages) {
  if (before_.begun_ns == internal::kNever) {
    answer_ages.begun_ns = SteadyNowNs();
    answer_ages.max_age = max_age;
    answer_ages.reuse = reuse;
  } else {
    answer_ages.max_age = std::min(before_.max_age, max_age);
    if (reuse.most < before_.reuse.most) answer_ages.reuse = reuse;
  }
  if (max_age == Age{0}) answer_ages.begun_ns = SteadyNowNs();
}

AcceptedAnswers::AcceptedAnswers(Age max_age) : before_(answer_ages) {
  if (before_.begun_ns == internal::kNever) return;
  answer_ages.max_age = std::min(before_.max_age, max_age);
  if (max_age == Age{0}) answer_ages.begun_ns = SteadyNowNs();
}

AcceptedAnswers::~AcceptedAnswers() {
  const int64_t oldest_ns = answer_ages.oldest_ns;
  answer_ages = before_;
  answer_ages.oldest_ns = oldest_ns;
}

bool IsAccepted(int64_t asked_ns, std::optional<int64_t> changed_ns) {
  const internal::AnswerAges& ages = answer_ages;
  if (ages.begun_ns == internal::kNever) return false;
  if (asked_ns >= ages.begun_ns || ages.max_age == kAnyAge) return true;
  if (ages.max_age == Age{0}) return false;
  const Age age(SteadyNowNs() - asked_ns);
  return age < std::max(ages.max_age, changed_ns ? ages.reuse.For(*changed_ns) : Age{0});
}

}  // namespace zarrfs
