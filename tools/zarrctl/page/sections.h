// The sections of a page. Each section is the HTML of one node.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tools/zarrctl/page/budget.h"
#include "tools/zarrctl/page/copy_lines.h"
#include "tools/zarrctl/page/page_nodes.h"
#include "zarrcore/hierarchy/hierarchy.h"

namespace zarrfs::ctl {

/// Data that the sections of a page share.
struct PageContext {
  const Hierarchy& hierarchy;
  const PageNodes& found;
  const CopyPlaces& places;
  PageBudget& budget;
  bool has_pictures = true;
  std::string why_no_pictures = {};  // printed in place of each picture, unless it is ""
};

struct Section {
  std::string html;
  bool has_picture = false;
  uint64_t picture_bytes = 0;        // the bytes of `html` that belong to the picture
  std::vector<Error> failures = {};  // the failures that the section names
};

/// Makes the section of a node. `number`: the node's index in `found.nodes`. `node`: null if it
/// cannot be read.
[[nodiscard]] Section MakeSection(const PageContext& context, size_t number, const Node* node);

/// Returns the anchor of a node's section on the page, such as "n12".
[[nodiscard]] std::string SectionId(size_t number);

/// Returns the HTML of a table of command lines to copy.
[[nodiscard]] std::string LinesHtml(const std::vector<CopyLine>& lines);

}  // namespace zarrfs::ctl
