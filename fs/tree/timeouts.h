// Timeouts: decides how long the kernel may cache an answer. This file has all rules and constants
// for that.
//
// An inode never changes its content, so attributes and pages of files are valid forever; only
// names expire. If the store reports its changes and one notification can invalidate every name in
// the kernel, a name that is known to be current is cached without a timeout. Otherwise the
// lifetime of a name is a share of the age of its object, because an object that changed a second
// ago may change again. In a store that ChangesInSteps(), whose objects all change at one moment, a
// name either has no timeout or is not cached at all. A name that stays cached during a change
// would show the old state next to the new one. Thread-safe.
#pragma once

#include <atomic>
#include <cstdint>

#include "fs/tree/tree_options.h"
#include "zarrcore/array/chunk_source.h"
#include "zarrcore/hierarchy/hierarchy.h"
#include "zarrcore/store/store.h"

namespace zarrfs {

/// Computes timeouts. All times are in seconds.
class Timeouts {
 public:
  static constexpr double kForever = 1e9;
  /// The minimum and maximum lifetime of a name without the option `ttl`, and the lifetime as a
  /// share of the age of the object. Absent names have the minimum lifetime.
  static constexpr double kMinTtl = 1;
  static constexpr double kMaxTtl = 60;
  static constexpr double kShareOfAge = 0.1;
  /// The timeouts of unreadable objects, which may become readable at any moment. The attributes of
  /// their inodes, which readable objects do not share, live longer.
  static constexpr double kUnreadableName = 0;
  static constexpr double kUnreadableAttributes = 1;

  Timeouts(const TreeOptions& options, const Store& store);

  /// How old a store's answer may be when the kernel gets it: a small share of a name's lifetime,
  /// or half the lifetime for slow stores. The timeout that the kernel gets is shorter by this
  /// share.
  [[nodiscard]] Age check_age() const { return check_age_; }
  /// Like check_age(), but larger for objects that have not changed for a long time, because their
  /// names live longer.
  [[nodiscard]] AnswerReuse reuse() const;

  /// Returns the timeout of the name of an object that last changed at `ctime_ns`, according to an
  /// answer with this validity.
  [[nodiscard]] double Name(int64_t ctime_ns, Validity validity) const;
  /// Returns the timeout of a name that does not exist.
  [[nodiscard]] double Absence(Validity validity) const;
  /// The timeout of the name of a chunk outside the bounds of its array. The array may grow at any
  /// moment.
  [[nodiscard]] double BeyondGrid() const { return immutable_ || ttl_ ? Absence({}) : 0; }
  /// Returns the timeout of the names of a node's folder and documents.
  [[nodiscard]] double Node(const zarrfs::Node& node) const {
    return Name(node.info.version.ctime_ns, node.freshness.validity());
  }
  [[nodiscard]] double Node(const Outline& node) const {
    return Name(node.info.version.ctime_ns, node.freshness.validity());
  }
  /// The timeout of a name in a listing. The kernel counts it from the time when the listing is
  /// read, and the store may have changed since the listing was made.
  [[nodiscard]] double Listed(double name_timeout) const;

  /// Set to true before a store that ChangesInSteps() changes, and to false afterwards. While it is
  /// true, no name may be cached, and names that are already cached are invalidated.
  void set_is_changing(bool is_changing) { is_changing_ = is_changing; }

  /// Sets whether one notification can invalidate every name in the kernel; false by default.
  void set_can_invalidate_all(bool can) { can_invalidate_all_ = can; }
  [[nodiscard]] bool can_invalidate_all() const { return can_invalidate_all_; }

 private:
  const Store& store_;
  const bool immutable_;
  const std::optional<double> ttl_;
  const double check_share_;  // check_age_ as a share of a name's lifetime
  const Age check_age_;
  const bool in_steps_;
  std::atomic<bool> is_changing_ = false;
  std::atomic<bool> can_invalidate_all_ = false;
};

}  // namespace zarrfs
