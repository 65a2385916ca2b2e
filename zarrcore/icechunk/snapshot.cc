#include "zarrcore/icechunk/snapshot.h"

#include <algorithm>
#include <utility>

#include "zarrcore/base/printable.h"
#include "zarrcore/icechunk/stored_values.h"

namespace zarrfs {
namespace {

size_t RankOf(const icechunk::ArrayNode& array) {
  return array.shape_v2() != nullptr ? array.shape_v2()->size() : array.shape()->size();
}

// True if a node may have this path. The path must be a valid key after its first slash, and no
// component may be "zarr.json".
bool IsNodePath(std::string_view path) {
  if (!path.starts_with('/')) return false;
  path.remove_prefix(1);
  if (!IsValidKey(path)) return false;
  while (!path.empty()) {
    if (path == kIcechunkDocument || path.ends_with("/zarr.json")) return false;
    path = FolderOf(path);
  }
  return true;
}

// True if `a` sorts before `b`, comparing each with a final slash.
bool IsBefore(std::string_view a, std::string_view b) {
  const size_t common = std::min(a.size(), b.size());
  const int order = a.substr(0, common).compare(b.substr(0, common));
  if (order != 0 || a.size() == b.size()) return order < 0;
  const auto next = static_cast<unsigned char>(a.size() < b.size() ? b[common] : a[common]);
  return a.size() < b.size() ? next >= '/' : next < '/';
}

bool IsBelow(std::string_view path, std::string_view folder) {
  return folder.empty() ||
         (path.size() > folder.size() && path.starts_with(folder) && path[folder.size()] == '/');
}

}  // namespace

// Counts of the items in a snapshot, taken before memory for the items is reserved.
struct IcechunkSnapshot::Counts {
  size_t nodes = 0;
  size_t boxes = 0;
  size_t extents = 0;

  // Counts the nodes, the bounding boxes of manifests, and the extents of the boxes. kDamaged if a
  // box does not have one extent per axis of its array.
  static Result<Counts> Of(const IcechunkFile& file, const icechunk::Snapshot& snapshot) {
    Counts counts;
    for (const icechunk::Node* node : *snapshot.nodes()) {
      ++counts.nodes;
      const icechunk::ArrayNode* array = node->kind_as_Array();
      const size_t rank = array == nullptr ? 0 : RankOf(*array);
      if (array == nullptr || rank > kIcechunkMaxRank) continue;
      for (const icechunk::ManifestBox* box : *array->manifests()) {
        ++counts.boxes;
        counts.extents += rank;
        if (rank == 0 || box->extents()->size() == rank) continue;
        return Fail(ErrorCode::kDamaged,
                    "{}: damaged: {}: expected a manifest of {} dimensions, found {}", file.key,
                    AsciiExcerpt(TextOf(*node->path())), rank, box->extents()->size());
      }
    }
    return counts;
  }

  [[nodiscard]] uint64_t bytes() const {
    return nodes * sizeof(IcechunkNode) + boxes * sizeof(IcechunkBox) +
           extents * sizeof(IcechunkInterval);
  }
};

bool IcechunkBox::MayHave(std::span<const uint32_t> prefix) const {
  const size_t axes = std::min(prefix.size(), extents.size());
  for (size_t axis = 0; axis < axes; ++axis) {
    if (prefix[axis] < extents[axis].begin || prefix[axis] >= extents[axis].end) return false;
  }
  return true;
}

Result<std::shared_ptr<const IcechunkSnapshot>> IcechunkSnapshot::Parse(IcechunkFile file,
                                                                        const IcechunkId& id) {
  const auto table = IcechunkTable<icechunk::Snapshot>(file);
  if (!table) return Fail(table);
  const icechunk::Snapshot& stored = **table;
  auto snapshot = std::make_shared<IcechunkSnapshot>();
  snapshot->id_ = IdOf(*stored.id());
  if (snapshot->id_ != id) {
    return Fail(ErrorCode::kDamaged, "{}: damaged: holds the snapshot {}", file.key,
                IcechunkIdText(snapshot->id_));
  }
  if (stored.parent() != nullptr) snapshot->parent_ = IdOf(*stored.parent());
  snapshot->time_ns_ = IcechunkTimeNs(stored.time());
  snapshot->message_ = TextOf(*stored.message());
  if (auto added = snapshot->Add(file); !added) return Fail(added);
  // Moving a long string does not move its characters, so views of them stay valid.
  snapshot->file_ = std::move(file);
  if (auto checked = snapshot->CheckNodes(); !checked) return Fail(checked);
  return snapshot;
}

Result<void> IcechunkSnapshot::Add(const IcechunkFile& file) {
  const auto& stored = *flatbuffers::GetRoot<icechunk::Snapshot>(file.content.data());
  const auto counts = Counts::Of(file, stored);
  if (!counts) return Fail(counts);
  auto memory = ProcessMemory().Take(counts->bytes(), file.memory.bytes());
  if (!memory) {
    return Fail(memory.error().code, "{}: {} nodes: {}", file.key, counts->nodes,
                memory.error().message);
  }
  memory_ = *std::move(memory);
  nodes_.reserve(counts->nodes);
  boxes_.reserve(counts->boxes);
  extents_.reserve(counts->extents);
  for (const icechunk::Node* from : *stored.nodes()) {
    const std::string_view path = TextOf(*from->path());
    if (!IsNodePath(path)) {
      return Fail(ErrorCode::kDamaged, "{}: damaged: expected the path of a node, found '{}'",
                  file.key, AsciiExcerpt(path));
    }
    IcechunkNode node;
    node.path = path.substr(1);
    node.document = TextOf(*from->document());
    node.id = NodeIdOf(*from->id());
    if (const icechunk::ArrayNode* array = from->kind_as_Array(); array != nullptr) {
      node.is_array = true;
      node.rank = RankOf(*array);
      const size_t first = boxes_.size();
      for (const icechunk::ManifestBox* box : *array->manifests()) {
        if (node.rank > kIcechunkMaxRank) break;
        const size_t first_extent = extents_.size();
        for (size_t axis = 0; axis < node.rank; ++axis) {
          const auto* extent = box->extents()->Get(static_cast<flatbuffers::uoffset_t>(axis));
          extents_.push_back({extent->begin(), extent->end()});
        }
        boxes_.push_back({IdOf(*box->id()), std::span(extents_).subspan(first_extent, node.rank)});
      }
      node.boxes = std::span(boxes_).subspan(first);
    }
    if (!node.path.empty()) {
      nodes_.push_back(node);
    } else if (!root_) {
      root_ = node;
    } else {
      return Fail(ErrorCode::kDamaged, "{}: damaged: it has two roots", file.key);
    }
  }
  std::ranges::sort(nodes_, IsBefore, &IcechunkNode::path);
  return {};
}

Result<void> IcechunkSnapshot::CheckNodes() const {
  if (root_ && root_->is_array && !nodes_.empty()) {
    return Fail(ErrorCode::kDamaged, "{}: damaged: nodes lie below an array", file_.key);
  }
  for (size_t at = 1; at < nodes_.size(); ++at) {
    const IcechunkNode& before = nodes_[at - 1];
    const IcechunkNode& node = nodes_[at];
    const bool is_same = before.path == node.path;
    if (is_same || (before.is_array && IsBelow(node.path, before.path))) {
      return Fail(ErrorCode::kDamaged, "{}: damaged: '{}' {}", file_.key, AsciiExcerpt(node.path),
                  is_same ? "appears twice" : "lies below an array");
    }
  }
  return {};
}

const IcechunkNode* IcechunkSnapshot::Find(std::string_view path) const {
  if (path.empty()) return root_ ? &*root_ : nullptr;
  const auto found = std::ranges::lower_bound(nodes_, path, IsBefore, &IcechunkNode::path);
  return found != nodes_.end() && found->path == path ? &*found : nullptr;
}

bool IcechunkSnapshot::HasBelow(std::string_view path) const {
  if (path.empty()) return !nodes_.empty();
  auto found = std::ranges::lower_bound(nodes_, path, IsBefore, &IcechunkNode::path);
  if (found != nodes_.end() && found->path == path) ++found;
  return found != nodes_.end() && IsBelow(found->path, path);
}

size_t IcechunkSnapshot::LowerBound(std::string_view text) const {
  const auto is_before = [&](const IcechunkNode& node) {
    const size_t common = std::min(node.path.size(), text.size());
    const int order = node.path.substr(0, common).compare(text.substr(0, common));
    if (order != 0) return order < 0;
    if (node.path.size() >= text.size()) return false;
    const std::string_view rest = text.substr(common);
    return std::string_view("/") < rest;
  };
  return static_cast<size_t>(std::ranges::partition_point(nodes_, is_before) - nodes_.begin());
}

}  // namespace zarrfs
