// IdFormat: a number that identifies the meaning of ids. The meaning depends on the views, on the
// documents of each view, and on their order (node_table.h). A journal of ids is valid only for a
// program that assigns the same numbers, so the format of the journal is computed from all of
// these.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace zarrfs {

/// The properties of a view that determine the inode numbers of its files.
struct ViewIds {
  std::string name;
  std::vector<std::string> documents;  // in the order of their numbers
};

/// The properties of AllViews(): the documents that each view shows for a group, an array and an
/// array of strings.
[[nodiscard]] std::vector<ViewIds> IdsOfViews();

/// Computes the format of a journal whose nodes have `block` positions each.
[[nodiscard]] uint64_t IdFormatOf(uint64_t block, std::span<const ViewIds> views);

/// The format number of the id journals that this program writes.
[[nodiscard]] uint64_t IdFormat();

}  // namespace zarrfs
