#include "fs/tree/timeouts.h"

#include <algorithm>
#include <chrono>
#include <limits>

#include "zarrcore/base/clocks.h"

namespace zarrfs {
namespace {

// The share of a name's life that may pass between asking the store and answering the kernel.
constexpr double kCheckShare = 0.02;

Age CheckAge(const TreeOptions& options) {
  if (options.immutable) return kAnyAge;
  return std::chrono::duration_cast<Age>(std::chrono::duration<double>(
      std::min(options.ttl.value_or(Timeouts::kMinTtl), Timeouts::kForever) * kCheckShare));
}

}  // namespace

Timeouts::Timeouts(const TreeOptions& options, const Store& store)
    : store_(store),
      immutable_(options.immutable),
      ttl_(options.ttl),
      check_age_(CheckAge(options)) {}

double Timeouts::Name(int64_t ctime_ns, Validity validity) const {
  if (immutable_) return kForever;
  if (ttl_) return *ttl_ * (1 - kCheckShare);
  if (can_invalidate_all_ && validity.Holds(store_)) return kForever;
  const double age = static_cast<double>(RealNowNs() - ctime_ns) * 1e-9;
  return std::clamp(age * kShareOfAge, kMinTtl, kMaxTtl) - kMinTtl * kCheckShare;
}

double Timeouts::Absence(Validity validity) const {
  return Name(std::numeric_limits<int64_t>::max() / 2, validity);
}

double Timeouts::Node(const zarrfs::Node& node) const {
  return Name(node.info.version.ctime_ns, node.freshness.validity());
}

double Timeouts::Listed(double name_timeout) const {
  return immutable_ ? name_timeout : std::min(name_timeout, kMaxTtl);
}

}  // namespace zarrfs
