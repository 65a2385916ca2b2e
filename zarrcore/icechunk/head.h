// IcechunkHead: the commit that a branch, a tag or an id leads to, with its snapshot.
#pragma once

#include <cstdint>
#include <memory>

#include "zarrcore/base/result.h"
#include "zarrcore/icechunk/repository.h"
#include "zarrcore/icechunk/snapshot.h"
#include "zarrcore/store/store.h"
#include "zarrcore/store/validity.h"

namespace zarrfs {

struct IcechunkHead {
  IcechunkPointer pointer;
  std::shared_ptr<const IcechunkSnapshot> snapshot;
  /// The time that chunks have whose objects are not asked for theirs: that of the repository's
  /// first snapshot, in nanoseconds since 1970; 0 on a fast store, and if that is gone.
  int64_t first_ns = 0;
  mutable Freshness freshness;  // set by RevalidatingCache

  /// Looks `at` up and reads the snapshot, unless it is that of `known`, which may be null. Fails
  /// like FindIcechunkPointer() and ReadSnapshotOf().
  [[nodiscard]] static Result<std::shared_ptr<const IcechunkHead>> Read(const Store& container,
                                                                        const IcechunkAt& at,
                                                                        const IcechunkHead* known);

  /// The same for what `pointer` leads to. Fails like IcechunkSnapshot::Parse(); kNotFound if there
  /// is no snapshot of this id.
  [[nodiscard]] static Result<std::shared_ptr<const IcechunkHead>> ReadSnapshotOf(
      const Store& container, IcechunkPointer pointer, const IcechunkHead* known);
};

}  // namespace zarrfs
