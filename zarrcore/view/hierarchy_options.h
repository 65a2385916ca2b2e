// HierarchyOptions: what users choose about a Hierarchy.
#ifndef ZARRCORE_VIEW_HIERARCHY_OPTIONS_H_
#define ZARRCORE_VIEW_HIERARCHY_OPTIONS_H_

#include <cstddef>

#include "zarrcore/array/chunk_source.h"
#include "zarrcore/view/view.h"

namespace zarrfs {

struct HierarchyOptions {
  size_t index_cache_bytes = 64u << 20;
  size_t node_cache_bytes = 32u << 20;  // about; of nodes that nobody holds
  size_t consolidated_max = 4096;       // nodes in a consolidated document; 0: make none
  char forced_separator = '\0';
  FillPolicy fill = FillPolicy::kAuto;
  OnSuperseded on_superseded = {};
  /// Called once for each property of the store that users may want to know and that is no fault,
  /// such as a type that one view does not have.
  Report on_note = {};
  /// The mount shows permissions to other users: a consolidated document repeats no node that is
  /// less open than its group.
  bool is_for_others = false;
};

}  // namespace zarrfs

#endif  // ZARRCORE_VIEW_HIERARCHY_OPTIONS_H_
