// Which stored objects an array has, by the listings of its folders. What cannot be listed, or is
// listed and refused, is told, and the walk goes on.
#ifndef TOOLS_ZARRCTL_OBJECT_WALK_H_
#define TOOLS_ZARRCTL_OBJECT_WALK_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "zarrcore/array/chunk_source.h"
#include "zarrcore/base/result.h"
#include "zarrcore/store/store.h"
#include "zarrcore/view/hierarchy.h"

namespace zarrfs::ctl {

struct ObjectVisitor {
  /// A stored object, by its number in layout().outer_grid, in no order; false ends the walk.
  std::function<bool(OuterIndex outer)> object;
  /// Something with the name of a chunk, of a shard or of a folder of them, and why it cannot be
  /// used; false ends the walk.
  std::function<bool(const std::string& key, const Error& error)> unreadable;
};

/// `array`: its `chunks` are not null. `max_names`: about where the walk ends early; false if it
/// did.
bool WalkObjects(const Store& store, const Node& array, const ObjectVisitor& visitor,
                 size_t max_names = SIZE_MAX);

/// Whether `error` says that what is there breaks the store, not that it cannot be read now:
/// damage, a link that is not followed, a zarrfs mount where there should be data.
[[nodiscard]] bool IsDamage(const Error& error);

}  // namespace zarrfs::ctl

#endif  // TOOLS_ZARRCTL_OBJECT_WALK_H_
