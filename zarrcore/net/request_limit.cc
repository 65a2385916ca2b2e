#include "zarrcore/net/request_limit.h"

#include <algorithm>

namespace zarrfs {
namespace {

// The limit is not lowered if at most one in this many requests is refused.
constexpr size_t kTolerated = 8;
// The limit is divided by this number if a server refuses all requests. Even a server that refuses
// everything for a moment can handle some requests.
constexpr size_t kMaxCut = 4;
// The limit grows by 1/kTolerated after this many batches of requests without a refusal. A batch
// has as many requests as the limit.
constexpr size_t kGoodRounds = 4;

}  // namespace

void RequestLimit::Count(bool is_refused, Time begun, Time ended) {
  // Results of requests sent under an earlier limit do not change the current limit.
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
