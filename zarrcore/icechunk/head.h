// IcechunkHead: the commit that a branch, a tag or an id points to, with its snapshot.
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
  /// The modification time of chunks whose objects are not stat'ed, in nanoseconds since 1970: the
  /// time of the repository's first snapshot. 0 in a fast store, and if that snapshot no longer
  /// exists.
  int64_t first_ns = 0;
  mutable Freshness freshness;  // set only by RevalidatingCache

  /// Looks up `at` and reads its snapshot, unless that is the snapshot of `known`, which may be
  /// null. Returns the errors of FindIcechunkPointer() and ReadSnapshotOf().
  [[nodiscard]] static Result<std::shared_ptr<const IcechunkHead>> Read(const Store& container,
                                                                        const IcechunkAt& at,
                                                                        const IcechunkHead* known);

  /// Reads the snapshot that `pointer` names, unless that is the snapshot of `known`, which may be
  /// null or lack a snapshot. kNotFound if the snapshot does not exist. Also returns the errors of
  /// IcechunkSnapshot::Parse().
  [[nodiscard]] static Result<std::shared_ptr<const IcechunkHead>> ReadSnapshotOf(
      const Store& container, IcechunkPointer pointer, const IcechunkHead* known);
};

}  // namespace zarrfs
