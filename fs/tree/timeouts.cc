#include "fs/tree/timeouts.h"

#include <algorithm>
#include <chrono>
#include <limits>

#include "zarrcore/base/clocks.h"

namespace zarrfs {
namespace {

// How old a store's answer may be when the kernel gets it, as a share of a name's lifetime, for
// fast and for slow stores.
constexpr double kCheckShare = 0.02;
constexpr double kCheckShareOfSlow = 0.5;

Age Seconds(double seconds) {
  return std::chrono::duration_cast<Age>(std::chrono::duration<double>(seconds));
}

Age CheckAge(const TreeOptions& options, double share) {
  if (options.immutable) return kAnyAge;
  return Seconds(std::min(options.ttl.value_or(Timeouts::kMinTtl), Timeouts::kForever) * share);
}

}  // namespace

Timeouts::Timeouts(const TreeOptions& options, const Store& store)
    : store_(store),
      immutable_(options.immutable),
      ttl_(options.ttl),
      check_share_(store.AnswersFast() ? kCheckShare : kCheckShareOfSlow),
      check_age_(CheckAge(options, check_share_)),
      in_steps_(store.ChangesInSteps()) {}

AnswerReuse Timeouts::reuse() const {
  if (immutable_ || ttl_ || store_.AnswersFast()) return {};
  return {.share_of_age = kShareOfAge * check_share_, .most = Seconds(kMaxTtl * check_share_)};
}

double Timeouts::Name(int64_t ctime_ns, Validity validity) const {
  if (immutable_) return kForever;
  if (in_steps_) {
    const bool is_kept = can_invalidate_all_ && !is_changing_ && validity.Holds(store_);
    return is_kept ? kForever : 0;
  }
  if (ttl_) return *ttl_ * (1 - check_share_);
  if (can_invalidate_all_ && validity.Holds(store_)) return kForever;
  const double age = static_cast<double>(RealNowNs() - ctime_ns) * 1e-9;
  const double life = std::clamp(age * kShareOfAge, kMinTtl, kMaxTtl);
  return life - (check_share_ == kCheckShareOfSlow ? life : kMinTtl) * check_share_;
}

double Timeouts::Absence(Validity validity) const {
  return Name(std::numeric_limits<int64_t>::max() / 2, validity);
}

double Timeouts::Listed(double name_timeout) const {
  if (immutable_) return name_timeout;
  // The kernel may use the names of a listing much later, perhaps after the store's next change.
  return in_steps_ ? 0 : std::min(name_timeout, kMaxTtl);
}

}  // namespace zarrfs
