#include "zarrcore/hierarchy/outline.h"

#include "zarrcore/metadata/decisive.h"

namespace zarrfs {
namespace {

// Returns a hash of the properties in ShapeOf() that the node's documents determine.
uint64_t NamesOf(const Node& node) {
  DigestBuilder all;
  all.Add(node.document);
  all.Add(uint64_t{node.metadata.has_value()});
  all.Add(uint64_t{node.group() != nullptr});
  all.Add(uint64_t{node.below_ome});
  // AxesIn04() reads the dimension names of the arrays below the group from this attribute.
  if (const GroupMetadata* const group = node.group(); group != nullptr && node.is_v2()) {
    all.Add(DumpJson(MemberOrNull(group->attributes, "multiscales")));
  }
  for (const NodeView& view : node.views) {
    all.Add(uint64_t{view.hidden.has_value()});
    all.Add(view.consolidated);
  }
  return DigestHash{}(all.Finish());
}

uint64_t ShapeOf(uint64_t names, const NodeSource& source) {
  DigestBuilder all;
  all.Add(names);
  for (const ObjectInfo* info : {&source.info, &source.folder_info}) {
    for (const uint64_t each : {info->mode, info->uid, info->gid}) all.Add(each);
  }
  return DigestHash{}(all.Finish());
}

ViewSet HiddenIn(const Node& node) {
  ViewSet hidden;
  for (size_t v = 0; v < node.views.size(); ++v) hidden[v] = node.views[v].hidden.has_value();
  return hidden;
}

}  // namespace

uint64_t ShapeOf(const Node& node) { return ShapeOf(NamesOf(node), node); }

std::shared_ptr<Outline> OutlineOf(const Node& node) {
  // Not make_shared, because weak pointers would keep the memory of the outline allocated.
  std::shared_ptr<Outline> outline(new Outline);
  static_cast<NodeSource&>(*outline) = node;
  outline->is_array = node.array() != nullptr;
  outline->is_group = node.group() != nullptr;
  outline->is_unreadable = node.unreadable() != nullptr;
  outline->is_provisional = node.is_provisional;
  outline->hidden = HiddenIn(node);
  outline->shape = ShapeOf(node);
  outline->freshness.Copy(node.freshness);
  return outline;
}

size_t MemoryOf(const Outline& outline) {
  constexpr size_t kOfCache = 160;  // the size of a cache entry in bytes, without its key
  return sizeof(Outline) + kOfCache + 2 * outline.path.capacity() +
         outline.sources.capacity() * sizeof(SourceDocument);
}

std::optional<Digest> KnownKinds::KeyOf(std::string_view zarr_json, std::string_view path,
                                        const FromParent& from_parent) {
  const auto decisive = DecisiveDigest(zarr_json);
  if (!decisive) return std::nullopt;
  DigestBuilder key;
  key.Add(*decisive);
  key.Add(uint64_t{from_parent.below_ome});
  // True for the root and its children; see ViewContext::is_in_root.
  key.Add(uint64_t{path.find('/') == path.npos});
  for (const std::string& axis : from_parent.axes) key.Add(axis);
  return key.Finish();
}

bool KnownKinds::Complete(const Digest& key, Outline& outline) const {
  const MutexLock lock(mutex_);
  const auto found = kinds_.find(key);
  if (found == kinds_.end()) return false;
  const Kind& kind = found->second;
  outline.is_array = kind.is_array;
  outline.is_group = !kind.is_array;
  outline.below_ome = kind.below_ome;
  outline.hidden = kind.hidden;
  outline.shape = ShapeOf(kind.names, outline);
  return true;
}

void KnownKinds::Add(const Digest& key, const Node& node) {
  const bool is_usable = node.group() != nullptr || node.chunks != nullptr;
  // Nodes with reports must be read each time, because a report names its node. Groups below an OME
  // group must be read, because their names decide whether they are OME groups.
  if (!is_usable || node.has_reports || (node.group() != nullptr && node.below_ome)) return;
  const Kind kind{node.array() != nullptr, node.below_ome, HiddenIn(node), NamesOf(node)};
  const MutexLock lock(mutex_);
  if (kinds_.size() >= kMaxKinds) kinds_.clear();
  kinds_.insert_or_assign(key, kind);
}

}  // namespace zarrfs
