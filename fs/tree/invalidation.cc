#include "fs/tree/invalidation.h"

#include <algorithm>
#include <map>
#include <set>
#include <vector>

namespace zarrfs {
namespace {

// The changes of one node.
struct NodeChanges {
  // Changed keys below the node. Most belong to stored objects or to folders of stored objects.
  std::vector<std::string> objects;
  // Names in the node's folder that have changed, or that contain a change. Excludes stored
  // objects.
  std::set<std::string> children;
  bool is_itself = false;      // true if the node's documents may have changed
  bool is_everything = false;  // true if anything in the node's folder may have changed
};

class Finder {
 public:
  Finder(Nodes& nodes, EntryInvalidator& invalidator) : nodes_(nodes), invalidator_(invalidator) {}

  bool Run(const Changes& changes) {
    if (changes.all || changes.all_names) return false;
    for (const std::string& key : changes.keys) Collect(key);
    for (const std::string& folder : changes.folders) {
      NodeRecord* const owner = nodes_.OwnerOf(folder);
      if (owner == nullptr) continue;
      NodeChanges& changed = changed_[owner];
      changed.is_itself = true;
      // A report about an array's folder affects all chunks of the array. A report about a group's
      // folder does not affect the nodes below the group, which have folders of their own.
      changed.is_everything = changed.is_everything || RangeOf(*owner) != nullptr;
    }
    bool has_changed_nodes = false;
    for (auto& [record, changed] : changed_) {
      // Handles the node's documents first, because an object outside the old layout may be inside
      // the new one.
      if (changed.is_itself) AddNode(*record, changed);
      AddObjects(*record, changed);
      has_changed_nodes = has_changed_nodes || changed.is_itself;
    }
    if (has_changed_nodes) AddSharedDocuments();
    for (const auto& [record, changed] : changed_) {
      if (changed.is_itself) AddPlaced(FolderOf(record->path));
    }
    are_dropped_ = false;
    for (const std::string& folder : changes.unwatched) Expire(folder);
    return are_all_named_ && left_ > 0;
  }

 private:
  // The chunks with coordinates in [first, end) along each axis.
  struct Box {
    ChunkCoordinates first{};
    ChunkCoordinates end{};
  };

  void Collect(const std::string& key) {
    NodeRecord* const owner = nodes_.OwnerOf(key);
    if (owner == nullptr) return;  // not even the root was used, so no name was looked up
    NodeChanges& changed = changed_[owner];
    if (key.size() == owner->path.size()) {
      changed.is_itself = changed.is_everything = true;
      return;
    }
    const RangePtr range = RangeOf(*owner);
    const bool is_object = range != nullptr && range->chunks->ObjectOfKey(key);
    changed.objects.push_back(key);
    if (is_object) return;
    changed.is_itself = true;
    const size_t begin = owner->path.empty() ? 0 : owner->path.size() + 1;
    changed.children.insert(key.substr(begin, key.find('/', begin) - begin));
  }

  void Drop(const NodeRecord& folder, size_t view, const std::string& name) {
    Drop(nodes_.FolderId(folder, view), name);
  }
  // Drops the name of a node's folder in a view, and the name of its assembled file if the view
  // shows such files.
  void DropNode(const NodeRecord& group, size_t view, const std::string& name) {
    Drop(group, view, name);
    const std::string_view suffix = AllViews()[view]->suffix();
    if (!suffix.empty()) Drop(group, view, name + std::string(suffix));
  }
  void Drop(NodeId folder, const std::string& name) {
    if (!are_dropped_) return Check(folder, name);
    if (left_ == 0) return;
    --left_;
    invalidator_.DropEntry(folder, name);
  }
  void Check(NodeId folder, const std::string& name) {
    if (left_ == 0) return;
    --left_;
    invalidator_.CheckEntry(folder, name);
  }

  // Invalidates the names in a chunk folder that is no longer watched. If `folder` is a node's own
  // folder, the names in it are unknown, and all names must be invalidated.
  void Expire(const std::string& folder) {
    NodeRecord* const owner = nodes_.OwnerOf(folder);
    if (owner == nullptr) return;  // not even the root was used, so no name was looked up
    if (owner->path.size() == folder.size()) {
      are_all_named_ = false;
      return;
    }
    NodeChanges changed;
    changed.objects = {folder};
    AddObjects(*owner, changed);
  }

  // Returns the latest known chunks of an array. Reads the metadata again if they were evicted.
  RangePtr RangeOf(NodeRecord& record) {
    const CurrentNode last = nodes_.table().LastSeen(record);
    if (last.node != nullptr || last.range != nullptr) return last.range;
    const auto current = nodes_.Refresh(record.path, kAnyAge);
    return current ? current->range : nullptr;
  }

  // Drops the names of a node's documents, and the names that depend on these documents.
  void AddNode(NodeRecord& record, const NodeChanges& changed) {
    const auto now = nodes_.Refresh(record.path);
    const auto [is_another, ranges] = nodes_.table().TakeChange(record, now.has_value());
    const bool is_everything = is_another || changed.is_everything;
    // Everything below the node is affected, and cannot be named here.
    if (is_everything && nodes_.table().HasBelow(record.path)) are_all_named_ = false;
    if (record.path.empty()) (void)invalidator_.InvalidateFolder(kRootId);
    const NodeRecord* const parent =
        record.path.empty() ? nullptr : nodes_.table().Find(FolderOf(record.path));
    const RangePtr current = now ? now->range : nullptr;
    for (size_t view = 0; view < AllViews().size(); ++view) {
      if (parent != nullptr && is_everything) {
        DropNode(*parent, view, std::string(NameOf(record.path)));
      }
      if (!invalidator_.InvalidateFolder(nodes_.FolderId(record, view))) continue;
      for (const std::string_view document : {kZarrJson, kZarray, kZgroup, kZattrs, kZmetadata}) {
        Drop(record, view, std::string(document));
      }
      // The kernel may have cached that a child does not exist, so the names of all changed
      // children are dropped.
      for (const std::string& child : changed.children) DropNode(record, view, child);
      // An array that has grown may have its first chunks, and the folder that contains them.
      if (current == nullptr || !current->views[view].shown) continue;
      const std::string_view chunks = current->views[view].naming.Folder(current->rank());
      if (!chunks.empty()) Check(nodes_.FolderId(record, view), std::string(chunks));
    }
    AddConsolidated(record.path);
    if (!is_everything) return;
    for (const RangePtr& range : ranges) AddAllChunks(*range);
  }

  void AddObjects(NodeRecord& record, const NodeChanges& changed) {
    const RangePtr range = changed.objects.empty() ? nullptr : RangeOf(record);
    if (range == nullptr) return;
    const auto& layout = range->chunks->layout();
    const auto& counts = layout.inner_grid.counts();
    for (const std::string& key : changed.objects) {
      // The key may be that of a folder. Its change affects the permissions of all stored objects
      // below it.
      Box box;
      const auto fixed = range->chunks->PrefixOfKey(key, box.first);
      if (!fixed) continue;
      for (size_t d = 0; d < range->rank(); ++d) {
        const uint64_t outer = box.first[d];
        box.first[d] = d < *fixed ? layout.FirstInner(d, outer) : 0;
        box.end[d] = d < *fixed ? std::min(box.first[d] + layout.InnerCount(d, outer), counts[d])
                                : counts[d];
      }
      AddChunks(*range, box);
    }
  }

  void AddAllChunks(const ArrayRange& range) {
    const auto& grid = range.chunks->layout().inner_grid;
    if (grid.size() == 0) return;
    Box box;
    std::ranges::copy(grid.counts(), box.end.begin());
    AddChunks(range, box);
  }

  void AddChunks(const ArrayRange& range, const Box& box) {
    for (size_t view = 0; view < AllViews().size(); ++view) {
      const ChunkNaming& naming = range.views[view].naming;
      const NodeId folder = nodes_.FolderId(*range.record, view);
      if (!range.views[view].shown || !invalidator_.InvalidateFolder(folder)) continue;
      ChunkCoordinates at = box.first;
      if (!naming.nested() || range.rank() == 0) {
        AddFlat(range, view, box, at, 0);
      } else if (!naming.prefix_c) {
        AddLevel(range, view, box, at, 0, folder);
      } else {
        Check(folder, "c");
        AddLevel(range, view, box, at, 0, range.FolderId(view, {}));
      }
    }
  }

  // Drops the names of chunks in the array's own folder. The first `level` coordinates are those in
  // `at`; the others vary within `box`.
  void AddFlat(const ArrayRange& range, size_t view, const Box& box, ChunkCoordinates& at,
               size_t level) {
    if (level == range.rank()) {
      Drop(*range.record, view, range.views[view].naming.Path({at.data(), level}));
      return;
    }
    for (at[level] = box.first[level]; at[level] < box.end[level] && left_ > 0; ++at[level]) {
      AddFlat(range, view, box, at, level + 1);
    }
  }

  // Drops the names of the chunks of `box` in a chunk folder and in the folders below it.
  void AddLevel(const ArrayRange& range, size_t view, const Box& box, ChunkCoordinates& at,
                size_t level, NodeId folder) {
    if (!invalidator_.InvalidateFolder(folder)) return;
    const bool is_last = level + 1 == range.rank();
    for (at[level] = box.first[level]; at[level] < box.end[level] && left_ > 0; ++at[level]) {
      const std::string name = std::to_string(at[level]);
      if (is_last) {
        Drop(folder, name);
        continue;
      }
      Check(folder, name);
      AddLevel(range, view, box, at, level + 1, range.FolderId(view, {at.data(), level + 1}));
    }
  }

  // Drops the consolidated documents of a node and all its ancestors.
  void AddConsolidated(std::string_view path) {
    for (;; path = FolderOf(path)) {
      const NodeRecord* const record = nodes_.table().Find(path);
      for (size_t view = 0; record != nullptr && view < AllViews().size(); ++view) {
        for (const std::string_view name : {kZarrJson, kZmetadata}) {
          Drop(*record, view, std::string(name));
        }
      }
      if (path.empty()) return;
    }
  }

  // Drops the .zattrs of arrays in the root group whose dimension names depend on each other.
  void AddSharedDocuments() {
    for (size_t view = 0; view < AllViews().size(); ++view) {
      const auto known = nodes_.shared().KnownDimensions(view);
      if (known == nullptr) continue;
      for (const ArrayDimensions& array : known->arrays) {
        const NodeRecord* const record = nodes_.table().Find(array.array);
        if (record != nullptr) Drop(*record, view, std::string(kZattrs));
      }
    }
  }

  // Drops the .zattrs of arrays whose attributes depend on a group above the array, or on the nodes
  // of that group.
  void AddPlaced(std::string_view folder) {
    for (const std::string& path : nodes_.shared().KnownPlaced(folder)) {
      const NodeRecord* const record = nodes_.table().Find(path);
      for (size_t view = 0; record != nullptr && view < AllViews().size(); ++view) {
        if (AllViews()[view]->places_arrays()) Drop(*record, view, std::string(kZattrs));
      }
    }
  }

  Nodes& nodes_;
  EntryInvalidator& invalidator_;
  std::map<NodeRecord*, NodeChanges> changed_;
  size_t left_ = kMaxInvalidatedEntries;
  bool are_all_named_ = true;
  bool are_dropped_ = true;  // true to drop names; false to only have them checked
};

}  // namespace

bool FindInvalidEntries(Nodes& nodes, const Changes& changes, EntryInvalidator& invalidator) {
  return Finder(nodes, invalidator).Run(changes);
}

}  // namespace zarrfs
