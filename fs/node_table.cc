#include "fs/node_table.h"

#include <algorithm>

namespace zarrfs {
namespace {

// Whether the ids of `range` still stand for what `node` says.
bool StillFits(const ArrayRange& range, const Node& node) {
  if (range.chunks != node.chunks) return false;
  for (size_t v = 0; v < AllViews().size(); ++v) {
    const auto& part = range.views[v];
    const auto& view = node.views[v].array;
    if (part.shown != view.has_value()) return false;
    if (!view) continue;
    if (part.naming != view->naming || part.form != view->form) return false;
    // (Of the same chunks in the same form, only the fill value makes a difference.)
    if ((part.fill_chunk == nullptr) != (view->fill_chunk == nullptr)) return false;
    if (part.fill_chunk != nullptr && part.fill_chunk->fill() != view->fill_chunk->fill()) {
      return false;
    }
  }
  return true;
}

bool SameDocuments(const Node& a, const Node& b) {
  for (size_t v = 0; v < kMaxViews; ++v) {
    if (a.views[v].documents != b.views[v].documents) return false;
  }
  return true;
}

}  // namespace

NodeId ArrayRange::FolderId(size_t view, std::span<const uint64_t> prefix) const {
  const auto& counts = chunks->layout().inner_grid.counts();
  uint64_t linear = 0;
  for (size_t d = 0; d < prefix.size(); ++d) linear = linear * counts[d] + prefix[d];
  return MakeId(views[view].folders + folder_offsets[prefix.size()] + linear, 0);
}

std::optional<uint64_t> NodeTable::Allocate(uint64_t count, NodeRecord* record,
                                            const ArrayRange* range) {
  const bool high = count > kHighCount || next_low_ + count > kHighStart;
  uint64_t& next = high ? next_high_ : next_low_;
  if (count > (uint64_t{1} << kPositionBits) - next) return std::nullopt;
  const uint64_t first = next;
  next += count;
  (high ? high_ : low_).push_back(Span{first, count, record, range});
  return first;
}

const ArrayRange* NodeTable::MakeRange(const Node& node, NodeRecord* record) {
  ArrayRange& range = ranges_.emplace_back();
  range.record = record;
  range.chunks = node.chunks;
  const ArrayRange* const before = record->range;
  range.epochs = before != nullptr && before->chunks == node.chunks
                     ? before->epochs
                     : std::make_shared<EpochTable>();
  const auto& grid = node.chunks->layout().inner_grid;
  uint64_t level_size = 1;
  uint64_t folder_count = 0;
  // (An empty array has no folders, and its other dimensions may be of any size.)
  for (size_t d = 0; d < grid.rank() && grid.size() > 0; ++d) {
    range.folder_offsets.push_back(folder_count);
    folder_count += level_size;
    level_size *= grid.counts()[d];
  }
  // Every view's folders come after the files; views with the same bytes share the files.
  const size_t views = AllViews().size();
  uint64_t count = 0;
  for (size_t v = 0; v < views; ++v) {
    const auto& view = node.views[v].array;
    auto& part = range.views[v];
    if (!view) continue;
    part.shown = true;
    part.naming = view->naming;
    part.form = view->form;
    part.fill_chunk = view->fill_chunk;
    part.links = 0;
    part.files = count;
    part.form_number = static_cast<uint32_t>(v);
    for (size_t other = 0; other < v; ++other) {
      const auto& o = range.views[other];
      if (!o.shown || o.form != part.form) continue;
      part.files = o.files;
      part.form_number = static_cast<uint32_t>(other);
      break;
    }
    if (part.form_number == v) count += grid.size();
  }
  for (size_t v = 0; v < views; ++v) {
    auto& part = range.views[v];
    part.folders = count;
    if (part.shown && part.naming.nested()) part.folder_count = folder_count;
    count += part.folder_count;
    for (size_t other = 0; other < views; ++other) {
      if (range.views[v].shown && range.views[other].shown && (shown_views_ >> other & 1) != 0 &&
          range.views[v].files == range.views[other].files) {
        ++range.views[v].links;
      }
    }
  }
  const auto first = Allocate(std::max<uint64_t>(count, 1), nullptr, &range);
  if (!first) {
    ranges_.pop_back();
    return nullptr;
  }
  for (auto& part : range.views) {
    part.files += *first;
    part.folders += *first;
  }
  return &range;
}

Result<SeenNode> NodeTable::See(const NodePtr& node) {
  NodeRecord* record = nullptr;
  {
    const std::shared_lock lock(mutex_);
    if (const auto found = by_path_.find(node->path); found != by_path_.end()) {
      record = found->second;
    }
  }
  if (record == nullptr) {
    const std::unique_lock lock(mutex_);
    const auto [found, added] = by_path_.try_emplace(node->path, nullptr);
    if (added) {
      NodeRecord& made = records_.emplace_back();
      const auto block = Allocate(NodeRecord::kBlock, &made, nullptr);
      if (!block) {
        records_.pop_back();
        by_path_.erase(found);
        return Fail(ErrorCode::kUnsupported, "{}: no node ids are left", node->path);
      }
      made.path = node->path;
      made.block = *block;
      found->second = &made;
    }
    record = found->second;
  }

  const std::lock_guard lock(record->mutex);
  if (record->node != node) {
    if (record->node != nullptr && !SameDocuments(*record->node, *node)) {
      auto& past = record->past_documents;
      if (past.size() >= NodeRecord::kMaxPastDocuments) past.erase(past.begin());
      past.emplace_back(record->document_epoch++, record->node);
    }
    record->node = node;
    if (node->array() != nullptr && !record->was_array) {
      record->was_array = true;
      arrays_.fetch_add(1, std::memory_order_relaxed);
    }
    if (node->chunks == nullptr) {
      record->range = nullptr;
    } else if (record->range == nullptr || !StillFits(*record->range, *node)) {
      const std::unique_lock table_lock(mutex_);
      record->range = MakeRange(*node, record);
    }
  }
  if (node->chunks != nullptr && record->range == nullptr) {
    return Fail(ErrorCode::kUnsupported, "{}: no node ids are left for its chunks", node->path);
  }
  return SeenNode{record, node, record->document_epoch, record->range};
}

NodeRecord* NodeTable::Find(std::string_view path) const {
  const std::shared_lock lock(mutex_);
  const auto found = by_path_.find(std::string(path));
  return found == by_path_.end() ? nullptr : found->second;
}

void NodeTable::FillTarget(const ArrayRange& range, uint64_t position, Target& target) {
  target.record = range.record;
  target.range = &range;
  const auto& grid = range.chunks->layout().inner_grid;
  for (size_t v = 0; v < AllViews().size(); ++v) {
    const auto& part = range.views[v];
    const bool is_of_another_view = target.epoch == kFillEpoch && part.fill_chunk == nullptr;
    if (part.shown && !is_of_another_view && position >= part.files &&
        position - part.files < grid.size()) {
      target.kind = Target::Kind::kChunk;
      target.view = v;
      target.chunk = position - part.files;
      return;
    }
    if (position >= part.folders && position - part.folders < part.folder_count) {
      target.kind = Target::Kind::kChunkFolder;
      target.view = v;
      uint64_t linear = position - part.folders;
      size_t level = range.folder_offsets.size() - 1;
      while (range.folder_offsets[level] > linear) --level;
      linear -= range.folder_offsets[level];
      target.level = level;
      for (size_t d = level; d-- > 0;) {
        target.prefix[d] = linear % grid.counts()[d];
        linear /= grid.counts()[d];
      }
      return;
    }
  }
}

std::optional<Target> NodeTable::Resolve(NodeId id) const {
  Target target;
  if (id == kRootId) return target;
  const uint64_t position = PositionOf(id);
  target.epoch = EpochOf(id);
  Span span;
  {
    const std::shared_lock lock(mutex_);
    const std::vector<Span>& spans = position >= kHighStart ? high_ : low_;
    const auto after = std::ranges::upper_bound(spans, position, {}, &Span::first);
    if (after == spans.begin()) return std::nullopt;
    span = *std::prev(after);
  }
  if (position - span.first >= span.count) return std::nullopt;
  if (span.range != nullptr) {
    FillTarget(*span.range, position, target);
    if (target.range == nullptr || target.kind == Target::Kind::kRoot) return std::nullopt;
    return target;
  }
  const uint64_t slot = position - span.first;
  target.record = span.record;
  target.view = slot / NodeRecord::kSlots;
  if (slot % NodeRecord::kSlots == 0) {
    target.kind = Target::Kind::kFolder;
  } else {
    target.kind = Target::Kind::kDocument;
    target.document = slot % NodeRecord::kSlots - 1;
  }
  if (target.view >= AllViews().size()) return std::nullopt;
  return target;
}

}  // namespace zarrfs
