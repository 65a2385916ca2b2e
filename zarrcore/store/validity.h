// Determines whether an answer of a Store is still valid.
//
//   Age        the maximum age of an answer that the caller accepts (base/answer_age.h)
//   Moment     when the answer was requested
//   Validity   how long the answer is valid
//   Freshness  the moment and the validity of a cached answer
//
// Take a Moment first, then Watch() the objects on which the answer depends, then call the store. A
// change after the Moment ends the Validity, so an answer never outlives its sources.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <string_view>

#include "zarrcore/base/answer_age.h"
#include "zarrcore/base/clocks.h"
#include "zarrcore/store/store.h"

namespace zarrfs {

/// How long an answer is valid: while Store::change_count() is unchanged, or for an unknown time.
/// Returned together with the answer.
class Validity {
 public:
  /// Makes an unknown validity.
  Validity() = default;
  explicit Validity(uint64_t change_count) : change_count_(change_count) {}

  /// Begins to watch `folder`. Call before a request to the store about the folder's contents.
  [[nodiscard]] static Validity Watch(const Store& store, std::string_view folder) {
    return Validity(store.Watch(folder));
  }
  /// Like Watch(), but also for answers about objects that are not part of Zarr.
  [[nodiscard]] static Validity WatchAllNames(const Store& store, std::string_view folder) {
    return Validity(store.WatchAllNames(folder));
  }

  [[nodiscard]] bool is_known() const { return change_count_ != 0; }
  /// True if the answer is known to be still valid.
  [[nodiscard]] bool Holds(const Store& store) const {
    return is_known() && change_count_ == store.change_count();
  }

  /// Returns the validity of a result that depends on two answers, with the validities `a` and `b`.
  [[nodiscard]] friend Validity operator&(Validity a, Validity b) {
    return a == b ? a : Validity();
  }
  Validity& operator&=(Validity other) { return *this = *this & other; }
  bool operator==(const Validity&) const = default;

 private:
  uint64_t change_count_ = 0;  // 0 if it is unknown how long the answer is valid
};

/// An answer and its validity.
template <typename T>
struct Valid {
  T value;
  Validity validity;
};
// A deduction guide for clang 14, which does not deduce the template arguments of an aggregate.
template <typename T>
Valid(T, Validity) -> Valid<T>;

/// The time of a request to the store, taken before the store is watched or called.
struct Moment {
  int64_t steady_ns = 0;
  uint64_t change_count = 0;

  [[nodiscard]] static Moment Now(const Store& store) {
    return {SteadyNowNs(), store.change_count()};
  }
  /// The validity of a result that depends on no answer yet: valid until anything in the store
  /// changes. Combine it (&=) with the validity of each answer that the result depends on.
  [[nodiscard]] Validity validity() const { return Validity(change_count); }
};

/// When a cached answer was last checked, and how long that check is valid. Thread-safe.
class Freshness {
 public:
  /// Records a check: the store was called at `asked`, and its answer has the given validity. The
  /// answer is reused for `lasts` even if it may no longer be valid.
  void Set(const Moment& asked, Validity validity, Age lasts = {}) {
    const bool is_valid = validity.is_known() && validity == asked.validity();
    checked_ns_.store(asked.steady_ns, std::memory_order_relaxed);
    lasts_ns_.store(lasts.count(), std::memory_order_relaxed);
    state_.store(asked.change_count << 1 | (is_valid ? 1 : 0), std::memory_order_release);
  }

  /// Copies the freshness of `other`, for a value made from another value.
  void Copy(const Freshness& other) {
    checked_ns_ = other.checked_ns_.load(std::memory_order_relaxed);
    lasts_ns_ = other.lasts_ns_.load(std::memory_order_relaxed);
    state_ = other.state_.load(std::memory_order_acquire);
  }

  [[nodiscard]] Validity validity() const {
    const uint64_t state = state_.load(std::memory_order_acquire);
    return Validity((state & 1) != 0 ? state >> 1 : 0);
  }

  /// True if the answer is known to be valid, or `max_age` is kAnyAge. Also true if the store has
  /// reported no change since the check, and the check is younger than `max_age`, or, unless
  /// `max_age` is 0, younger than `lasts` of Set().
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
  // The change count of the store at the check, shifted left by 1. Bit 0 is set if the answer is
  // valid until the change count differs.
  std::atomic<uint64_t> state_{0};
};

/// True if a version is racy: so recent that another change may leave the version unchanged. A racy
/// version is used, but nothing derived from it is cached.
[[nodiscard]] bool IsRacy(const Store& store, const ObjectInfo& info);

/// Sleeps until versions that are racy now are no longer racy, and returns true. The caller must
/// then call the store again. Returns false immediately if this thread may not wait, or if the
/// timestamps of the store are so coarse that waiting costs more than it saves.
[[nodiscard]] bool WaitOutRacy(const Store& store);

}  // namespace zarrfs
