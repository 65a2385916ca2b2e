#include "fs/tree/invalidation.h"

#include <mutex>
#include <optional>

namespace zarrfs {
namespace {

class Finder {
 public:
  Finder(Nodes& nodes, const InvalidateEntry& invalidate)
      : nodes_(nodes), invalidate_(invalidate) {}

  void Run(const Changes& changes) {
    bool has_changed_nodes = false;
    for (const std::string& key : changes.keys) {
      NodeRecord* const owner = nodes_.OwnerOf(key);
      if (owner != nullptr && !AddObject(*owner, key)) {
        AddOwner(*owner, key);
        has_changed_nodes = true;
      }
    }
    if (has_changed_nodes) AddSharedDocuments();
  }

 private:
  void Add(const NodeRecord& folder, size_t view, const std::string& name) {
    Add(nodes_.FolderId(folder, view), name);
  }
  void Add(NodeId folder, const std::string& name) {
    if (left_ == 0) return;
    --left_;
    invalidate_(folder, name);
  }

  // As it was before the change, if it is still kept.
  CurrentNode NodeOf(NodeRecord& record) {
    CurrentNode last = nodes_.table().LastSeen(record);
    if (last.node != nullptr) {
      if (last.node->chunks == nullptr) last.range = nullptr;  // those that it had before
      return last;
    }
    const auto current = nodes_.Refresh(record.path, kAnyAge);
    return current ? *current : CurrentNode{};
  }

  // The chunks in a stored object. False if the key is not that of one.
  bool AddObject(NodeRecord& owner, const std::string& key) {
    const CurrentNode node = NodeOf(owner);
    if (node.range == nullptr) return false;
    const auto object = node.range->chunks->ObjectOfKey(key);
    if (!object) return false;
    const auto& layout = node.range->chunks->layout();
    const auto& grid = layout.inner_grid;
    ChunkCoordinates first{};
    layout.outer_grid.Coordinates(ToNumber(*object), first);
    ChunkCoordinates at{};
    for (uint64_t slot = 0; slot < layout.inner_per_outer_count && left_ > 0; ++slot) {
      bool is_inside = true;
      uint64_t rest = slot;
      for (size_t d = grid.rank(); d-- > 0; rest /= layout.inner_per_outer[d]) {
        at[d] = first[d] * layout.inner_per_outer[d] + rest % layout.inner_per_outer[d];
        is_inside = is_inside && at[d] < grid.counts()[d];
      }
      if (is_inside) AddChunk(*node.range, at);
    }
    return true;
  }

  void AddAllChunks(const ArrayRange& range) {
    const auto& grid = range.chunks->layout().inner_grid;
    if (grid.size() > left_) return;
    ChunkCoordinates at{};
    for (uint64_t chunk = 0; chunk < grid.size(); ++chunk) {
      grid.Coordinates(chunk, at);
      AddChunk(range, at);
    }
  }

  void AddChunk(const ArrayRange& range, const ChunkCoordinates& at) {
    const size_t rank = range.rank();
    for (size_t view = 0; view < AllViews().size(); ++view) {
      const auto& part = range.views[view];
      if (!part.shown) continue;
      // (Chunks of one coordinate and no "c" before it lie in the array's own folder.)
      if (part.naming.nested() && rank > (part.naming.prefix_c ? 0 : 1)) {
        Add(range.FolderId(view, {at.data(), rank - 1}), std::to_string(at[rank - 1]));
      } else {
        Add(*range.record, view, part.naming.Path({at.data(), rank}));
      }
    }
  }

  // Something of the node itself, or below it, that is not a stored object of an array.
  void AddOwner(NodeRecord& owner, const std::string& key) {
    AddNode(owner);
    AddConsolidated(owner.path);
    const CurrentNode before = NodeOf(owner);
    if (before.range != nullptr) AddAllChunks(*before.range);
    // Chunks that it did not have were perhaps looked for.
    const auto now = nodes_.Refresh(owner.path);
    const bool is_another = now && now->range != nullptr && now->range != before.range;
    if (is_another) AddAllChunks(*now->range);
    if (key.size() == owner.path.size()) return;
    // A child that was never found, but perhaps looked for.
    const size_t begin = owner.path.empty() ? 0 : owner.path.size() + 1;
    const std::string child = key.substr(begin, key.find('/', begin) - begin);
    for (size_t view = 0; view < AllViews().size(); ++view) Add(owner, view, child);
  }

  // The name of a node, and those of whatever documents it has now or had before.
  void AddNode(const NodeRecord& record) {
    const NodeRecord* const parent =
        record.path.empty() ? nullptr : nodes_.table().Find(FolderOf(record.path));
    for (size_t view = 0; view < AllViews().size(); ++view) {
      for (const std::string_view document : {kZarrJson, kZarray, kZgroup, kZattrs, kZmetadata}) {
        Add(record, view, std::string(document));
      }
      if (parent == nullptr) continue;
      Add(*parent, view, record.path.substr(record.path.rfind('/') + 1));
    }
  }

  // Consolidated documents of a node and of all groups above it.
  void AddConsolidated(std::string_view path) {
    for (;; path = FolderOf(path)) {
      NodeRecord* const record = nodes_.table().Find(path);
      const CurrentNode node = record != nullptr ? NodeOf(*record) : CurrentNode{};
      for (size_t view = 0; node.node != nullptr && view < AllViews().size(); ++view) {
        const std::string& name = node.node->views[view].consolidated;
        if (!name.empty()) Add(*record, view, name);
      }
      if (path.empty()) return;
    }
  }

  // Documents of the root's children that depend on each other.
  void AddSharedDocuments() {
    for (size_t view = 0; view < AllViews().size(); ++view) {
      const auto known = nodes_.hierarchy().KnownDimensions(view);
      if (known == nullptr) continue;
      for (const ArrayDimensions& array : known->arrays) {
        const NodeRecord* const record = nodes_.table().Find(array.array);
        if (record != nullptr) Add(*record, view, std::string(kZattrs));
      }
    }
  }

  Nodes& nodes_;
  const InvalidateEntry& invalidate_;
  size_t left_ = kMaxInvalidatedEntries;
};

}  // namespace

void FindInvalidEntries(Nodes& nodes, const Changes& changes, const InvalidateEntry& invalidate) {
  Finder(nodes, invalidate).Run(changes);
}

}  // namespace zarrfs
