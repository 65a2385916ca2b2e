// Timeouts: how long the kernel may cache an answer. Contains every rule and every constant about
// that.
//
// An inode never changes its content, so attributes of files and their pages are valid forever;
// only names expire. If the store reports its changes and the kernel can invalidate every name at
// once, a name that is known to be current is cached without a timeout. Otherwise a name lives for
// a share of the age of its object: an object that changed a second ago may change again. In a
// store that ChangesInSteps() a name has no timeout, or is not cached at all: a name cached beyond
// a step would show the old state next to the new one. Thread-safe.
#pragma once

#include <atomic>
#include <cstdint>

#include "fs/tree/tree_options.h"
#include "zarrcore/array/chunk_source.h"
#include "zarrcore/hierarchy/hierarchy.h"
#include "zarrcore/store/store.h"

namespace zarrfs {

/// All in seconds.
class Timeouts {
 public:
  static constexpr double kForever = 1e9;
  /// Without `ttl=`: minimum and maximum lifetime of a name, and the share of its object's age.
  /// Absent names live for the minimum.
  static constexpr double kMinTtl = 1;
  static constexpr double kMaxTtl = 60;
  static constexpr double kShareOfAge = 0.1;
  /// Unreadable objects may become readable at any moment. The attributes of their inodes, which
  /// readable objects do not share, live longer.
  static constexpr double kUnreadableName = 0;
  static constexpr double kUnreadableAttributes = 1;

  Timeouts(const TreeOptions& options, const Store& store);

  /// Maximum age of an answer of the store when the kernel gets it: a small share of a name's
  /// lifetime, which ends that much earlier; half of it in slow stores.
  [[nodiscard]] Age check_age() const { return check_age_; }
  /// The check age of objects unchanged for long, whose names live longer.
  [[nodiscard]] Patience patience() const;

  /// For the name of an object last changed at `ctime_ns`, from an answer that holds for
  /// `validity`.
  [[nodiscard]] double Name(int64_t ctime_ns, Validity validity) const;
  /// For an absent name.
  [[nodiscard]] double Absence(Validity validity) const;
  /// For the name of a chunk outside its array: the array may grow at any moment.
  [[nodiscard]] double BeyondGrid() const { return immutable_ || ttl_ ? Absence({}) : 0; }
  /// For the folder and the documents of a node.
  [[nodiscard]] double Node(const zarrfs::Node& node) const;
  /// For a name in a listing: the kernel counts its lifetime from when the listing is read, and the
  /// store may have changed since it was made.
  [[nodiscard]] double Listed(double name_timeout) const;

  /// In a store that ChangesInSteps(): no name may be cached while this is set, from before a step
  /// until after it. Names cached already are invalidated in that time.
  void set_is_changing(bool is_changing) { is_changing_ = is_changing; }

  /// Whether the kernel can invalidate every name at once. False until set.
  void set_can_invalidate_all(bool can) { can_invalidate_all_ = can; }
  [[nodiscard]] bool can_invalidate_all() const { return can_invalidate_all_; }

 private:
  const Store& store_;
  const bool immutable_;
  const std::optional<double> ttl_;
  const double check_share_;  // of a name's life
  const Age check_age_;
  const bool in_steps_;
  std::atomic<bool> is_changing_ = false;
  std::atomic<bool> can_invalidate_all_ = false;
};

}  // namespace zarrfs
