#include "zarrcore/icechunk/folder.h"

#include <string_view>
#include <utility>

namespace zarrfs {

IcechunkFolder::IcechunkFolder(std::shared_ptr<const IcechunkSnapshot> snapshot, std::string prefix,
                               Parts parts)
    : snapshot_(std::move(snapshot)), prefix_(std::move(prefix)), parts_(std::move(parts)) {
  if (parts_.has_nodes) node_ = snapshot_->LowerBound(prefix_);
}

Result<std::vector<ListEntry>> IcechunkFolder::Next(size_t count) {
  std::vector<ListEntry> entries;
  while (entries.size() < count && own_ < parts_.own.size()) {
    entries.push_back(parts_.own[own_++]);
  }
  const auto& values = parts_.coordinates.values;
  while (entries.size() < count && value_ < values.size()) {
    entries.push_back({std::to_string(values[value_++]), parts_.coordinates_are_folders, false});
  }
  const auto nodes = snapshot_->nodes();
  while (parts_.has_nodes && entries.size() < count && node_ < nodes.size()) {
    const std::string_view path = nodes[node_].path;
    if (path.size() < prefix_.size()) {  // the node is the folder itself
      ++node_;
      continue;
    }
    if (!path.starts_with(prefix_)) break;
    const std::string_view rest = path.substr(prefix_.size());
    entries.push_back({std::string(rest.substr(0, rest.find('/'))), true, false});
    constexpr char kAfterSlash = '/' + 1;
    node_ = snapshot_->LowerBound(prefix_ + entries.back().name + kAfterSlash);
  }
  return entries;
}

}  // namespace zarrfs
