// Timeouts: for how long the kernel may cache an answer. Every rule and every constant about
// that is here.
//
// An inode never changes its content, so attributes of files and their pages hold for ever; only
// names expire. Where the store reports its changes and the kernel can invalidate every name at
// once, a name that is known to be current is cached without a timeout. Elsewhere a name lives for
// a share of the age of what it stands for: what changed a second ago may change again. In a
// store that ChangesInSteps() a name has no timeout, or is not cached at all: a name that is cached
// beyond a step would show the old state beside the new one. Thread-safe.
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
  /// Without `ttl=`: the least and the most that a name lives, and the share of the age of what it
  /// stands for. A name of nothing lives for the least.
  static constexpr double kMinTtl = 1;
  static constexpr double kMaxTtl = 60;
  static constexpr double kShareOfAge = 0.1;
  /// What cannot be read may be readable in a moment. (Of its inode, which what can be read does
  /// not share, attributes live longer.)
  static constexpr double kUnreadableName = 0;
  static constexpr double kUnreadableAttributes = 1;

  Timeouts(const TreeOptions& options, const Store& store);

  /// How old an answer of the store may be when the kernel gets it: a small share of a name's life,
  /// which ends that much earlier; half of it where the store is slow.
  [[nodiscard]] Age check_age() const { return check_age_; }
  /// The same of what has not changed for long, whose names live longer.
  [[nodiscard]] Patience patience() const;

  /// A name of what changed last at `ctime_ns`, by an answer that holds for `validity`.
  [[nodiscard]] double Name(int64_t ctime_ns, Validity validity) const;
  /// A name of nothing.
  [[nodiscard]] double Absence(Validity validity) const;
  /// A name that a chunk could have if its array were larger: it may grow any moment.
  [[nodiscard]] double BeyondGrid() const { return immutable_ || ttl_ ? Absence({}) : 0; }
  /// The folder and the documents of a node.
  [[nodiscard]] double Node(const zarrfs::Node& node) const;
  /// A name that is part of a listing: the kernel counts its life from when the listing is read,
  /// and the store may have changed since it was made.
  [[nodiscard]] double Listed(double name_timeout) const;

  /// In a store that ChangesInSteps(): no name may be cached while this is set, which is from
  /// before a step until after it. Names that are cached already are invalidated meanwhile.
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
