// The groups and arrays that a page shows: found first, so that the tree is whole when time goes by
// with pictures.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "tools/zarrctl/page/budget.h"
#include "tools/zarrctl/page/ome_image.h"
#include "zarrcore/hierarchy/hierarchy.h"

namespace zarrfs::ctl {

struct PageNode {
  std::string path;
  size_t depth = 0;                // below the first one
  bool is_array = false;           // or a group
  std::string label = {};          // "float32 [96, 181] (time, lat)"; of a group ""
  std::string problem = {};        // why it cannot be used or read
  std::vector<std::string> files;  // that views make of it, by view
};

struct PageNodes {
  std::vector<PageNode> nodes;                      // each group before what lies in it
  std::string why_not_all;                          // why there may be more; "" if these are all
  std::map<std::string, OmeImage> images;           // by the key of the smallest level
  std::map<std::string, std::string> other_levels;  // to the key of the smallest one
  std::vector<Error> failures;                      // of what cannot be read now
};

/// From `top` down. `on_node` is called with how many were found since.
[[nodiscard]] PageNodes FindPageNodes(const Hierarchy& hierarchy, const NodePtr& top,
                                      const PageBudget& budget,
                                      const std::function<void()>& on_node);

}  // namespace zarrfs::ctl
