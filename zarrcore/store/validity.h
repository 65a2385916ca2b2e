// Whether an answer of a Store is still true.
//
//   Age        the maximum age of an answer that the caller accepts
//   Moment     when the store was asked
//   Validity   how long its answer holds
//   Freshness  both, kept with a cached answer
//
// Take a Moment, then Watch() the objects that the answer depends on, then ask: a change after the
// Moment ends the Validity, so an answer never outlives its sources.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <string_view>

#include "zarrcore/base/clocks.h"
#include "zarrcore/store/store.h"

namespace zarrfs {

/// How long ago a cached answer may have been checked. kAnyAge: it is not revalidated.
using Age = std::chrono::nanoseconds;
inline constexpr Age kAnyAge = Age::max();

/// For slow stores, how long an answer is reused regardless of max_age (except 0); grows with the
/// age of the object.
struct Patience {
  double share_of_age = 0;  // fraction of the time since the object's last change; 0: off
  Age most{0};

  /// `ctime_ns`: of the object's version.
  [[nodiscard]] Age For(int64_t ctime_ns) const;
};

/// How long an answer holds: while Store::change_count() is unchanged, or unknown. Returned
/// together with the answer.
class Validity {
 public:
  /// Unknown.
  Validity() = default;
  explicit Validity(uint64_t change_count) : change_count_(change_count) {}

  /// Begins to watch `folder`; call before asking the store about its contents.
  [[nodiscard]] static Validity Watch(const Store& store, std::string_view folder) {
    return Validity(store.Watch(folder));
  }
  /// As Watch() for answers about objects that are not part of Zarr.
  [[nodiscard]] static Validity WatchAllNames(const Store& store, std::string_view folder) {
    return Validity(store.WatchAllNames(folder));
  }

  [[nodiscard]] bool is_known() const { return change_count_ != 0; }
  /// Whether the answer is known to be still valid.
  [[nodiscard]] bool Holds(const Store& store) const {
    return is_known() && change_count_ == store.change_count();
  }

  /// How long both answers hold.
  [[nodiscard]] friend Validity operator&(Validity a, Validity b) {
    return a == b ? a : Validity();
  }
  Validity& operator&=(Validity other) { return *this = *this & other; }
  bool operator==(const Validity&) const = default;

 private:
  uint64_t change_count_ = 0;  // 0: unknown
};

/// An answer and its validity.
template <typename T>
struct Valid {
  T value;
  Validity validity;
};
// clang 14 does not deduce the arguments of an aggregate.
template <typename T>
Valid(T, Validity) -> Valid<T>;

/// When the store was asked. Taken before the store is asked or watched.
struct Moment {
  int64_t steady_ns = 0;
  uint64_t change_count = 0;

  [[nodiscard]] static Moment Now(const Store& store) {
    return {SteadyNowNs(), store.change_count()};
  }
  /// Valid as long as nothing in the store changes; narrow it (&=) by the validity of each answer.
  /// A guarantee only together with a watch.
  [[nodiscard]] Validity validity() const { return Validity(change_count); }
};

/// When a cached answer was last checked, and how long that check holds. Thread-safe.
class Freshness {
 public:
  /// The store was asked at `asked`, and its answer holds for `validity`. It is reused for `lasts`
  /// even if it may not hold.
  void Set(const Moment& asked, Validity validity, Age lasts = {}) {
    const bool is_valid = validity.is_known() && validity == asked.validity();
    checked_ns_.store(asked.steady_ns, std::memory_order_relaxed);
    lasts_ns_.store(lasts.count(), std::memory_order_relaxed);
    state_.store(asked.change_count << 1 | (is_valid ? 1 : 0), std::memory_order_release);
  }

  [[nodiscard]] Validity validity() const {
    const uint64_t state = state_.load(std::memory_order_acquire);
    return Validity((state & 1) != 0 ? state >> 1 : 0);
  }

  /// Known to be still valid, or checked less than `max_age` (or, unless that is 0, `lasts`) ago
  /// with no change reported by the store since.
  [[nodiscard]] bool IsFresh(const Store& store, Age max_age) const {
    if (max_age == kAnyAge) return true;
    const uint64_t state = state_.load(std::memory_order_acquire);
    if (state >> 1 != store.change_count()) return false;
    if ((state & 1) != 0) return true;
    const int64_t lasts = max_age.count() == 0 ? 0 : lasts_ns_.load(std::memory_order_relaxed);
    const int64_t age = SteadyNowNs() - checked_ns_.load(std::memory_order_relaxed);
    return age < std::max(lasts, max_age.count());
  }

 private:
  std::atomic<int64_t> checked_ns_{0};
  std::atomic<int64_t> lasts_ns_{0};
  std::atomic<uint64_t> state_{0};  // the change count; the lowest bit: it is watched
};

/// Whether a version is racy: so young that a further change may leave it looking the same. It is
/// used, but nothing derived from it is cached.
[[nodiscard]] bool IsRacy(const Store& store, const ObjectInfo& info);

/// Sleeps until a version that is racy now no longer is, and returns true: ask the store again.
/// False at once if this thread may not wait, or if the clock of the store is so coarse that
/// waiting costs more than it saves.
[[nodiscard]] bool WaitOutRacy(const Store& store);

}  // namespace zarrfs
