#include "zarrcore/store/validity.h"

#include <algorithm>
#include <thread>

#include "zarrcore/base/waiting.h"

namespace zarrfs {
namespace {

constexpr int64_t kMaxRacyWaitNs = 100'000'000;

}  // namespace

Age Patience::For(int64_t ctime_ns) const {
  if (share_of_age == 0) return Age{0};
  const auto age = static_cast<double>(std::max<int64_t>(RealNowNs() - ctime_ns, 0));
  return Age(static_cast<int64_t>(std::min(age * share_of_age, static_cast<double>(most.count()))));
}

bool IsRacy(const Store& store, const ObjectInfo& info) {
  // Clocks may disagree a little: a version from the near future is as racy as a fresh one.
  const int64_t age = RealNowNs() - info.version.ctime_ns;
  return age < store.TimestampGranularityNs() && age > -store.TimestampGranularityNs();
}

bool WaitOutRacy(const Store& store) {
  const int64_t granularity = store.TimestampGranularityNs();
  if (granularity > kMaxRacyWaitNs || !MayWait()) return false;
  std::this_thread::sleep_for(std::chrono::nanoseconds(granularity));
  return true;
}

}  // namespace zarrfs
