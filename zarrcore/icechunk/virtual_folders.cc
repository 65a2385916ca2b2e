#include "zarrcore/icechunk/virtual_folders.h"

#include <algorithm>

namespace zarrfs {
void VirtualFolderSearch::Add(std::string_view location) {
  // Most locations are in the same folder as the previous location, so compare these two first.
  const std::string_view folder = location.substr(0, location.rfind('/') + 1);
  if (folder == latest_) return;
  latest_ = folder;
  auto prefix = VirtualPrefixOf(location);
  if (!prefix) return Miss();
  if (std::ranges::find(found_.prefixes, *prefix) != found_.prefixes.end()) return;
  if (found_.prefixes.size() == kMaxVirtualFolders) return Miss();
  found_.prefixes.push_back(*std::move(prefix));
}

Result<VirtualFolders> FindVirtualFolders(IcechunkChunkFinder& finder,
                                          const IcechunkContainers& containers,
                                          const IcechunkSnapshot& snapshot) {
  VirtualFolderSearch search;
  size_t left = kMaxVirtualReferences;
  const auto visit = [&](const IcechunkNode& node) -> Result<void> {
    const auto visited = finder.Visit(
        node, left, [&](const IcechunkManifest& manifest, const IcechunkReference& reference) {
          if (reference.kind != IcechunkReference::Kind::kVirtual) return;
          const auto location = manifest.LocationOf(reference).and_then(
              [&](std::string found) { return containers.Resolve(std::move(found)); });
          if (location) {
            search.Add(*location);
          } else {
            search.Miss();
          }
        });
    if (!visited) return Fail(visited);
    left -= *visited;
    if (left == 0) search.Miss();
    return {};
  };
  if (const IcechunkNode* const root = snapshot.Find("")) {
    if (auto visited = visit(*root); !visited) return Fail(visited);
  }
  for (const IcechunkNode& node : snapshot.nodes()) {
    if (left == 0) break;
    if (!node.is_array || node.path.empty()) continue;
    if (auto visited = visit(node); !visited) return Fail(visited);
  }
  return std::move(search).Finish();
}

}  // namespace zarrfs
