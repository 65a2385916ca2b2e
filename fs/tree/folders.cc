#include "fs/tree/folders.h"

#include <utility>

#include "fs/tree/folder_parts.h"

namespace zarrfs {

std::unique_ptr<Folder> Folders::OpenStatus(const StatusFiles& files) const {
  return std::make_unique<Folder>(StatusFiles::kFolderId, 0, timeouts_, nullptr,
                                  std::make_unique<StatusNames>(files.names()));
}

Result<std::unique_ptr<Folder>> Folders::Open(const Target& target) const {
  const uint64_t count = nodes_.store().change_count();
  auto node = nodes_.Refresh(target.record->path);
  if (!node) return Fail(node);
  if (node->node->unreadable() != nullptr) return tl::unexpected(*node->node->unreadable());
  NodeId id = kRootId;
  std::unique_ptr<FolderPart> documents;
  std::unique_ptr<FolderPart> rest;
  if (target.kind == Target::Kind::kRoot) {
    rest = std::make_unique<ViewFolders>(entries_, *node);
  } else if (target.kind == Target::Kind::kFolder && node->node->group() != nullptr) {
    auto children = nodes_.hierarchy().Children(*node->node, nodes_.check_age());
    if (!children) return Fail(children);
    id = nodes_.FolderId(*node->record, target.view);
    documents = std::make_unique<DocumentFiles>(nodes_, contents_, entries_, *node, target.view,
                                                children->value.size() <= consolidated_max_);
    rest = std::make_unique<ChildFolders>(nodes_, entries_, failures_, *node, target.view,
                                          std::move(*children));
  } else if (target.kind == Target::Kind::kFolder || target.kind == Target::Kind::kChunkFolder) {
    if (target.kind == Target::Kind::kFolder) {
      id = nodes_.FolderId(*node->record, target.view);
      documents =
          std::make_unique<DocumentFiles>(nodes_, contents_, entries_, *node, target.view, true);
    } else if (node->range == nullptr || node->range->rank() != target.range->rank()) {
      return Fail(ErrorCode::kStale, "{} changed its rank", target.record->path);
    } else {
      id = target.range->FolderId(target.view, {target.prefix.data(), target.level});
    }
    auto chunks = ChunksBelow(*node, target);
    if (!chunks) return Fail(chunks);
    rest = std::move(*chunks);
  } else {
    return Fail(ErrorCode::kNotADirectory, "{}: not a folder", target.record->path);
  }
  return std::make_unique<Folder>(id, count, timeouts_, std::move(documents), std::move(rest));
}

Result<std::unique_ptr<FolderPart>> Folders::ChunksBelow(const CurrentNode& node,
                                                         const Target& target) const {
  if (node.range == nullptr || !node.range->views[target.view].shown) return nullptr;
  const auto& part = node.range->views[target.view];
  const ChunkSource& chunks = *node.range->chunks;
  const auto& layout = chunks.layout();
  const size_t rank = node.range->rank();
  const ChunkPrefix prefix{node, target.view, target.prefix, target.level};
  for (size_t d = 0; d < prefix.level; ++d) {
    // A folder of an older layout that the array does not reach any more: empty.
    if (prefix.at[d] >= layout.inner_grid.counts()[d]) return nullptr;
  }
  if (layout.inner_grid.size() == 0) return nullptr;
  const bool is_root = target.kind == Target::Kind::kFolder && part.naming.nested() &&
                       part.naming.prefix_c && rank > 0;
  const bool has_folders = part.naming.nested() && prefix.level + 1 < rank;
  // Where chunks that are not stored have files too, these are all of a range.
  const bool has_all = part.fill_chunk != nullptr;
  if (is_root) {
    const auto any = has_all ? Valid<bool>{true, {}} : chunks.AnyChunk({}, nodes_.check_age());
    if (!any) return Fail(any);
    if (!any->value) return nullptr;
    return std::make_unique<ChunkRoot>(entries_, node, target.view);
  }
  if (has_folders && has_all) {
    return std::make_unique<ChunkFolders>(entries_, prefix,
                                          layout.inner_grid.counts()[prefix.level]);
  }
  if (has_folders) {
    auto coordinates = chunks.NextCoordinates(prefix.fixed(), nodes_.check_age());
    if (!coordinates) return Fail(coordinates);
    return std::make_unique<ChunkFolders>(entries_, prefix, std::move(*coordinates));
  }
  if (has_all) {
    // One after the other: the prefix leaves the last axis open, or every one.
    ChunkCoordinates at{};
    for (size_t d = 0; d < prefix.level; ++d) at[d] = prefix.at[d] / layout.inner_per_outer[d];
    const uint64_t first = layout.outer_grid.Linear({at.data(), rank});
    const uint64_t count =
        prefix.level == 0 ? layout.outer_grid.size() : layout.outer_grid.counts()[rank - 1];
    return std::make_unique<ChunkFiles>(entries_, nodes_, prefix, first, count);
  }
  auto objects = chunks.OuterCursor(prefix.fixed());
  const auto first = objects->Get();
  if (!first) return Fail(first);
  return std::make_unique<ChunkFiles>(entries_, nodes_, prefix, std::move(objects));
}

}  // namespace zarrfs
