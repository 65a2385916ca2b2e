// Finds the groups and arrays that a page shows. They are found before pictures are made, so the
// tree is complete even if the pictures use up the time.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "tools/zarrctl/page/budget.h"
#include "tools/zarrctl/page/ome_image.h"
#include "zarrcore/base/mutex.h"
#include "zarrcore/hierarchy/hierarchy.h"

namespace zarrfs::ctl {

struct PageNode {
  std::string path;
  size_t depth = 0;          // the number of levels below the top node
  bool is_array = false;     // if false, the node is a group
  std::string label = {};    // such as "float32 [96, 181] (time, lat)"; "" for a group
  std::string problem = {};  // why the node cannot be used or read
  // The names of the files that views make from the node, by view number.
  std::vector<std::string> files;
};

struct PageNodes {
  std::vector<PageNode> nodes;             // each group comes before the nodes below it
  std::string why_not_all;                 // why nodes may be missing here; "" if none are
  std::map<std::string, OmeImage> images;  // by the key of the array with the lowest resolution
  // Maps the keys of an image's other arrays to the key of the array with the lowest resolution.
  std::map<std::string, std::string> other_levels;
  std::vector<Error> failures;  // errors of nodes that cannot be read
};

/// Adds the nodes from `top` down to `found`, which is changed only with `mutex` held. So another
/// thread can show the nodes found so far if the store stops answering. Calls `on_node` for each
/// node.
void FindPageNodes(const Hierarchy& hierarchy, const NodePtr& top, const PageBudget& budget,
                   const std::function<void()>& on_node, PageNodes& found, Mutex& mutex);

}  // namespace zarrfs::ctl
