// IdFormat: what an id means depends on which views there are, on the documents of each, and on
// their order (node_table.h). A journal of ids holds only for a program that numbers them alike, so
// the format of the journal is computed from all of these.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace zarrfs {

/// What ids depend on in one view.
struct ViewIds {
  std::string name;
  std::vector<std::string> documents;  // in the order of their numbers
};

/// Those of AllViews(): the documents that they show of a group, an array and an array of texts.
[[nodiscard]] std::vector<ViewIds> IdsOfViews();

/// The format of a journal whose nodes have `block` positions each.
[[nodiscard]] uint64_t IdFormatOf(uint64_t block, std::span<const ViewIds> views);

/// That of this program.
[[nodiscard]] uint64_t IdFormat();

}  // namespace zarrfs
