// IcechunkHead: the commit that a branch, a tag or an id leads to, with its snapshot.
#pragma once

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
  mutable Freshness freshness;  // set by RevalidatingCache

  /// Looks `at` up and reads the snapshot, unless it is that of `known`, which may be null. Fails
  /// like FindIcechunkPointer() and IcechunkSnapshot::Parse(); kNotFound if there is no snapshot of
  /// this id.
  [[nodiscard]] static Result<std::shared_ptr<const IcechunkHead>> Read(const Store& container,
                                                                        const IcechunkAt& at,
                                                                        const IcechunkHead* known);
};

}  // namespace zarrfs
