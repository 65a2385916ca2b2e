#include "fs/tree/folders.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "fs/tree/chunk_files.h"

namespace zarrfs {
namespace {

constexpr NodeId kUnknownInode = 0xffffffff;  // of a listed name without a known inode

// A part that does not change during its listing, with data from when the folder was opened.
class FixedPart final : public FolderPart {
 public:
  using ListFrom = std::function<Result<bool>(uint64_t from, const AddEntry& add)>;
  explicit FixedPart(ListFrom list, std::function<Validity()> validity = nullptr)
      : list_(std::move(list)), validity_(std::move(validity)) {}
  Result<bool> List(uint64_t from, ListingOf /*what*/, const AddEntry& add) override {
    return list_(from, add);
  }
  Validity validity() const override { return validity_ ? validity_() : Validity(); }

 private:
  const ListFrom list_;
  const std::function<Validity()> validity_;
};

// The folders of the views that the root lists. Positions are view numbers.
std::unique_ptr<FolderPart> ViewFolders(const Entries& entries, const CurrentNode& root,
                                        const ViewSet& listed) {
  return std::make_unique<FixedPart>(
      [&entries, root, listed](uint64_t from, const AddEntry& add) {
        for (size_t view = from; view < AllViews().size(); ++view) {
          if (!listed[view] || root.node->views[view].hidden) continue;
          const std::string name(AllViews()[view]->name());
          if (!add(name, entries.Folder(root, view), view + 1)) return false;
        }
        return true;
      },
      [node = root.node] { return node->freshness.validity(); });
}

bool HasConsolidated(const Nodes& nodes, const Node& node, size_t view, bool may_consolidate) {
  if (node.views[view].consolidated.empty()) return false;
  const auto known = nodes.hierarchy().KnownConsolidated(node, view);
  if (known != nullptr) return !known->is_too_large;
  return node.has_zmetadata() || may_consolidate;
}

// The metadata files of a node in one view. Positions are document numbers. `may_consolidate`: few
// enough nodes lie below for a consolidated document.
std::unique_ptr<FolderPart> DocumentFiles(const Nodes& nodes, const Contents& contents,
                                          const Entries& entries, const CurrentNode& node,
                                          size_t view, bool may_consolidate) {
  return std::make_unique<FixedPart>([&nodes, &contents, &entries, node, view, may_consolidate](
                                         uint64_t from, const AddEntry& add) -> Result<bool> {
    // A document made from several nodes is not made for a listing, which may not need it. Most
    // likely it is unchanged.
    const auto made = [&](size_t document) {
      const uint32_t epoch = contents.made_documents().Current(
          node.record->DocumentId(view, VersionedDocument(document), 0));
      return NameOnly(node.record->DocumentId(view, document, epoch), S_IFREG);
    };
    const NodeView& shown = node.node->views[view];
    const bool has_consolidated = HasConsolidated(nodes, *node.node, view, may_consolidate);
    for (size_t d = from; d <= kConsolidatedDocument; ++d) {
      if (has_consolidated && d == kConsolidatedDocument) {
        if (!add(shown.consolidated, made(d), d + 1)) return false;
        continue;
      }
      if (d >= shown.documents.size()) continue;
      const std::string& name = shown.documents[d].name;
      if (name.empty() || (has_consolidated && name == shown.consolidated)) continue;
      const FileKind kind = KindOfDocument(node.node->path, view, d);
      if (kind == FileKind::kAssembledFile) {
        // Whether they can be shown is checked at lookup.
        const auto known = nodes.hierarchy().KnownFile(*node.node, view);
        if (known != nullptr && known->file.document.empty()) continue;
        if (!add(name, made(d), d + 1)) return false;
        continue;
      }
      auto entry = kind == FileKind::kMadeDocument ? Result<Entry>(made(d))
                                                   : entries.Document(node, view, d);
      if (!entry) return Fail(entry);
      // The folder was opened a while ago: make the kernel look the name up.
      if (!nodes.hierarchy().IsFresh(*node.node, nodes.check_age())) {
        entry = NameOnly(entry->attributes.st_ino, S_IFREG);
      }
      if (!add(name, *entry, d + 1)) return false;
    }
    return true;
  });
}

// The nodes and files below a group. Positions are those in `names`.
std::unique_ptr<FolderPart> ChildFolders(Nodes& nodes, const Entries& entries, FailureLog& failures,
                                         const CurrentNode& group, size_t view,
                                         Valid<std::vector<std::string>> children) {
  return std::make_unique<FixedPart>(
      [&nodes, &entries, &failures, node = group.node, view, names = std::move(children.value)](
          uint64_t from, const AddEntry& add) -> Result<bool> {
        for (uint64_t i = from; i < names.size(); ++i) {
          const auto child = nodes.RefreshListed(JoinKey(node->path, names[i]), view, kAnyAge);
          if (!child && child.error().code == ErrorCode::kWouldBlock) return Fail(child);
          if (!child && child.error().code == ErrorCode::kNotFound) continue;
          const bool is_readable = child && child->node->unreadable() == nullptr;
          if (is_readable && !Hierarchy::Shows(*child->node, names[i], view)) continue;
          if (!child) failures.OnFailure("readdir", child.error());
          const Entry entry =
              is_readable ? entries.FolderOrFile(*child, view) : NameOnly(kUnknownInode, S_IFDIR);
          if (!add(names[i], entry, i + 1)) return false;
        }
        // Children that vanished with their group were skipped as absent.
        if (const auto gone = nodes.WhyGone(*node)) return tl::unexpected(*gone);
        return true;
      },
      [node = group.node, validity = children.validity] {
        return validity & node->freshness.validity();
      });
}

// The files of the nodes below a group, in a view of files, and folders of the groups. Positions
// are those in `names`.
std::unique_ptr<FolderPart> AssembledFileNames(Nodes& nodes, const Contents& contents,
                                               const Entries& entries, FailureLog& failures,
                                               const CurrentNode& group, size_t view,
                                               std::vector<std::string> names) {
  const auto add_file = [&nodes, &contents, view](const std::string& path, const AddEntry& add,
                                                  uint64_t next) -> Result<bool> {
    const auto name = nodes.hierarchy().FileName(path, view, kAnyAge);
    if (!name) return Fail(name);
    const auto record = nodes.table().RecordOf(path);
    if (!record) return Fail(record);
    // Its sources are read at lookup.
    const uint32_t epoch = contents.made_documents().Current((*record)->DocumentId(view, 0, 0));
    return add(*name, NameOnly((*record)->DocumentId(view, 0, epoch), S_IFREG), next);
  };
  // Each node has two positions: one for its file, and one for its folder.
  return std::make_unique<FixedPart>([&nodes, &entries, &failures, add_file, node = group.node,
                                      view, names = std::move(names)](
                                         uint64_t from, const AddEntry& add) -> Result<bool> {
    for (uint64_t at = from; at < 2 * names.size(); ++at) {
      const std::string& name = names[at / 2];
      const std::string path = name.empty() ? node->path : JoinKey(node->path, name);
      const auto child = nodes.Refresh(path, kAnyAge);
      if (!child && child.error().code == ErrorCode::kWouldBlock) return Fail(child);
      if (!child && child.error().code == ErrorCode::kNotFound) continue;
      if (!child) failures.OnFailure("readdir", child.error());
      const bool is_readable = child && child->node->unreadable() == nullptr;
      if (is_readable && child->node->views[view].hidden) continue;
      Result<bool> added = true;
      if (at % 2 == 0) {
        const auto has_file = nodes.hierarchy().HasFileOrFolder(path, view, /*file=*/true, kAnyAge);
        if (!has_file) return Fail(has_file);
        if (*has_file) added = add_file(path, add, at + 1);
      } else if (is_readable && !name.empty() && child->node->group() != nullptr) {
        added = add(name, entries.Folder(*child, view), at + 1);
      }
      if (!added || !*added) return added;
    }
    if (const auto gone = nodes.WhyGone(*node)) return tl::unexpected(*gone);
    return true;
  });
}

// Folders of chunks: with these coordinates along the next axis (sorted), or with all up to
// `count`. Positions are coordinates.
std::unique_ptr<FolderPart> ChunkFolders(const Entries& entries, const ChunkPrefix& prefix,
                                         std::vector<uint64_t> coordinates, uint64_t count) {
  return std::make_unique<FixedPart>([&entries, prefix, coordinates = std::move(coordinates),
                                      count](uint64_t from, const AddEntry& add) {
    const auto add_folder = [&](uint64_t coordinate) {
      ChunkCoordinates at = prefix.at;
      at[prefix.level] = coordinate;
      return add(std::to_string(coordinate),
                 entries.ChunkFolder(prefix.node, prefix.view, {at.data(), prefix.level + 1}),
                 coordinate + 1);
    };
    for (; from < count; ++from) {
      if (!add_folder(from)) return false;
    }
    return std::all_of(std::ranges::lower_bound(coordinates, from), coordinates.end(), add_folder);
  });
}

// The folder "c" that holds all chunks of an array. Its position is 0.
std::unique_ptr<FolderPart> ChunkRoot(const Entries& entries, const CurrentNode& node,
                                      size_t view) {
  return std::make_unique<FixedPart>([&entries, node, view](uint64_t from, const AddEntry& add) {
    return from > 0 || add("c", entries.ChunkFolder(node, view, {}), 1);
  });
}

// The files of the status folder. Positions are those in `names`.
std::unique_ptr<FolderPart> StatusNames(std::vector<std::string> names) {
  return std::make_unique<FixedPart>(
      [names = std::move(names)](uint64_t from, const AddEntry& add) {
        for (uint64_t i = from; i < names.size(); ++i) {
          if (!add(names[i], NameOnly(kUnknownInode, S_IFREG), i + 1)) return false;
        }
        return true;
      });
}

}  // namespace

std::unique_ptr<Folder> Folders::OpenStatus(const StatusFiles& files) const {
  return std::make_unique<Folder>(StatusFiles::kFolderId, 0, timeouts_, nullptr,
                                  StatusNames(files.names()));
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
    rest = ViewFolders(entries_, *node, nodes_.listed_views());
  } else if (target.kind == Target::Kind::kFolder && HasFiles(target.view)) {
    auto children = nodes_.hierarchy().Children(*node->node, nodes_.check_age());
    if (!children) return Fail(children);
    // The file of the root itself, if it has one, comes first.
    if (target.record->path.empty()) children->value.emplace(children->value.begin());
    id = nodes_.FolderId(*node->record, target.view);
    rest = AssembledFileNames(nodes_, contents_, entries_, failures_, *node, target.view,
                              std::move(children->value));
  } else if (target.kind == Target::Kind::kFolder && node->node->group() != nullptr) {
    auto children = nodes_.hierarchy().Children(*node->node, nodes_.check_age(), /*listed=*/true);
    if (!children) return Fail(children);
    id = nodes_.FolderId(*node->record, target.view);
    documents = DocumentFiles(nodes_, contents_, entries_, *node, target.view,
                              children->value.size() <= consolidated_max_);
    const auto files = nodes_.hierarchy().Files(*node->node, nodes_.check_age());
    if (!files) return Fail(files);
    children->value.insert(children->value.end(), files->value.begin(), files->value.end());
    children->validity &= files->validity;
    rest = ChildFolders(nodes_, entries_, failures_, *node, target.view, std::move(*children));
  } else if (target.kind == Target::Kind::kFolder || target.kind == Target::Kind::kChunkFolder) {
    if (target.kind == Target::Kind::kFolder) {
      id = nodes_.FolderId(*node->record, target.view);
      documents = DocumentFiles(nodes_, contents_, entries_, *node, target.view, true);
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
    // A folder of an older layout, outside the current array: empty.
    if (prefix.at[d] >= layout.inner_grid.counts()[d]) return nullptr;
  }
  if (layout.inner_grid.size() == 0) return nullptr;
  const bool is_root = target.kind == Target::Kind::kFolder && part.naming.nested() &&
                       part.naming.prefix_c && rank > 0;
  const bool has_folders = part.naming.nested() && prefix.level + 1 < rank;
  // If missing chunks have files too, the folder contains the whole range.
  const bool has_all = part.fill_chunk != nullptr;
  if (is_root) {
    const auto any = has_all ? Valid<bool>{true, {}} : chunks.AnyChunk({}, nodes_.check_age());
    if (!any) return Fail(any);
    if (!any->value) return nullptr;
    return ChunkRoot(entries_, node, target.view);
  }
  if (has_folders && has_all) {
    return ChunkFolders(entries_, prefix, {}, layout.inner_grid.counts()[prefix.level]);
  }
  if (has_folders) {
    auto coordinates = chunks.NextCoordinates(prefix.fixed(), nodes_.check_age());
    if (!coordinates) return Fail(coordinates);
    return ChunkFolders(entries_, prefix, std::move(*coordinates), 0);
  }
  if (has_all) {
    // Contiguous, because the prefix leaves open only the last axis, or all axes.
    ChunkCoordinates at{};
    for (size_t d = 0; d < prefix.level; ++d) at[d] = layout.PlaceOf(d, prefix.at[d]).outer;
    const uint64_t first = layout.outer_grid.Linear({at.data(), rank});
    const uint64_t count =
        prefix.level == 0 ? layout.outer_grid.size() : layout.outer_grid.counts()[rank - 1];
    return std::make_unique<ChunkFiles>(entries_, nodes_, prefix, nullptr, first, count);
  }
  auto objects = chunks.OuterCursor(prefix.fixed());
  if (!objects) return Fail(objects);
  const auto first = (*objects)->Get();
  if (!first) return Fail(first);
  return std::make_unique<ChunkFiles>(entries_, nodes_, prefix, *std::move(objects));
}

}  // namespace zarrfs
