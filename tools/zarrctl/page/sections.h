// The parts of a page: each is HTML of one node.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tools/zarrctl/page/budget.h"
#include "tools/zarrctl/page/copy_lines.h"
#include "tools/zarrctl/page/page_nodes.h"
#include "zarrcore/hierarchy/hierarchy.h"

namespace zarrfs::ctl {

/// What is common to all sections.
struct PageContext {
  const Hierarchy& hierarchy;
  const PageNodes& found;
  const CopyPlaces& places;
  PageBudget& budget;
  bool has_pictures = true;
  std::string why_no_pictures = {};  // to be said where one would be, unless it is empty
};

struct Section {
  std::string html;
  bool has_picture = false;
  uint64_t picture_bytes = 0;        // that `html` has of it
  std::vector<Error> failures = {};  // named in it
};

/// `number`: of the node in `found.nodes`. `node`: null if it cannot be read.
[[nodiscard]] Section MakeSection(const PageContext& context, size_t number, const Node* node);

/// "n12": where the section of a node is on the page.
[[nodiscard]] std::string SectionId(size_t number);

/// Lines to copy, as a table.
[[nodiscard]] std::string LinesHtml(const std::vector<CopyLine>& lines);

}  // namespace zarrfs::ctl
