#include "zarrcore/net/request_limit.h"

#include <algorithm>

namespace zarrfs {
namespace {

// One refusal of so many requests says nothing of their number.
constexpr size_t kTolerated = 8;
// One that refuses all, for a moment, bears more than none: the limit is divided by this.
constexpr size_t kMaxCut = 4;
// The limit grows, by what is tolerated, after so many rounds without a refusal.
constexpr size_t kGoodRounds = 4;

}  // namespace

void RequestLimit::Count(bool is_refused, Time begun, Time ended) {
  // (Those that another limit let go tell nothing of this one.)
  if (begun < changed_) return;
  ++(is_refused ? refused_ : answered_);
  const size_t all = answered_ + refused_;
  if (all < limit_) return;
  const size_t before = limit_;
  if (refused_ > 0) good_rounds_ = 0;
  if (refused_ * kTolerated > all) {
    limit_ = answered_ > 0 ? answered_ : std::max<size_t>(limit_ / kMaxCut, 1);
  } else if (refused_ == 0 && ++good_rounds_ >= kGoodRounds) {
    limit_ = std::min(limit_ + std::max<size_t>(limit_ / kTolerated, 1), most_);
    good_rounds_ = 0;
  }
  if (limit_ != before) changed_ = ended;
  answered_ = refused_ = 0;
}

}  // namespace zarrfs
