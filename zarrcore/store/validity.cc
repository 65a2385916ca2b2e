#include "zarrcore/store/validity.h"

#include <chrono>
#include <thread>

#include "zarrcore/base/waiting.h"

namespace zarrfs {
namespace {

constexpr int64_t kMaxRacyWaitNs = 100'000'000;

}  // namespace

bool IsRacy(const Store& store, const ObjectInfo& info) {
  // Clocks may differ a little, so a version from the near future also counts as racy.
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
