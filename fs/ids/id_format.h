// IdFormat: the meaning of an id depends on the views, on the documents of each, and on their order
// (node_table.h). A journal of ids is valid only for a program that numbers them identically, so
// the format of the journal is computed from all of these.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace zarrfs {

/// The properties of a view that ids depend on.
struct ViewIds {
  std::string name;
  std::vector<std::string> documents;  // in the order of their numbers
};

/// The properties of AllViews(): the documents that they show for a group, an array and an array of
/// texts.
[[nodiscard]] std::vector<ViewIds> IdsOfViews();

/// The format of a journal whose nodes have `block` positions each.
[[nodiscard]] uint64_t IdFormatOf(uint64_t block, std::span<const ViewIds> views);

/// The format of this program.
[[nodiscard]] uint64_t IdFormat();

}  // namespace zarrfs
