#include "fs/tree/node_table.h"

#include <algorithm>
#include <utility>

namespace zarrfs {
namespace {

// Nodes, however large: they are not to be looked at as new ones by each request.
constexpr size_t kAlwaysHeld = 8;

Digest DocumentsFingerprint(const Node& node) {
  DigestBuilder all;
  for (const NodeView& view : node.views) all.Add(view.fingerprint);
  return std::move(all).Finish();
}

// What files the views make of them. (Of the same chunks in the same encoding, only the fill value
// makes a difference, and whether there are files of it.)
Digest ViewsFingerprint(const Node& node) {
  DigestBuilder all;
  for (const NodeView& view : node.views) {
    all.Add(uint64_t{view.array.has_value()});
    if (!view.array) continue;
    const ArrayView& array = *view.array;
    all.Add(uint64_t{array.naming.prefix_c});
    all.Add(uint64_t{static_cast<unsigned char>(array.naming.separator)});
    const ChunkEncoding& encoding = array.encoding;
    all.Add(static_cast<uint64_t>(encoding.kind))
        .Add(encoding.cut_front)
        .Add(encoding.cut_back)
        .Add(encoding.size);
    all.Add(uint64_t{encoding.is_wide})
        .Add(uint64_t{encoding.as_stored})
        .Add(uint64_t{encoding.extent.size()});
    for (const uint64_t extent : encoding.extent) all.Add(extent);
    all.Add(uint64_t{array.fill_chunk != nullptr});
    if (array.fill_chunk != nullptr) all.Add(std::span(array.fill_chunk->fill()));
  }
  return std::move(all).Finish();
}

}  // namespace

NodeId ArrayRange::FolderId(size_t view, std::span<const uint64_t> prefix) const {
  const auto& counts = chunks->layout().inner_grid.counts();
  uint64_t linear = 0;
  for (size_t d = 0; d < prefix.size(); ++d) linear = linear * counts[d] + prefix[d];
  return MakeId(views[view].folders + folder_offsets[prefix.size()] + linear, 0);
}

std::optional<uint64_t> NodeTable::Allocate(uint64_t count, NodeRecord* record,
                                            RangeRecord* range) {
  const bool high = count > kHighCount || next_low_ + count > kHighStart;
  uint64_t& next = high ? next_high_ : next_low_;
  if (count > (uint64_t{1} << kPositionBits) - next) return std::nullopt;
  const uint64_t first = next;
  next += count;
  (high ? high_ : low_).push_back(Span{first, count, record, range});
  return first;
}

RangePtr NodeTable::RefreshRange(const Node& node, NodeRecord* record) {
  const Digest& chunks_fingerprint = node.chunks_fingerprint;
  const Digest views_fingerprint = ViewsFingerprint(node);
  RangeRecord* const before = record->range;
  const bool same_chunks = before != nullptr && before->chunks_fingerprint == chunks_fingerprint;
  const bool same = same_chunks && before->views_fingerprint == views_fingerprint;
  const std::unique_lock lock(mutex_);
  if (same) {
    if (auto known = before->range.lock(); known != nullptr && known->chunks == node.chunks) {
      return known;
    }
  }
  // (Not in one piece with its counts, which weak pointers would keep it by.)
  const std::shared_ptr<ArrayRange> made(new ArrayRange);
  ArrayRange& range = *made;
  range.record = record;
  range.chunks = node.chunks;
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
    part.encoding = view->encoding;
    part.fill_chunk = view->fill_chunk;
    part.links = 0;
    part.files = count;
    part.encoding_number = static_cast<uint32_t>(v);
    for (size_t other = 0; other < v; ++other) {
      const auto& o = range.views[other];
      if (!o.shown || o.encoding != part.encoding) continue;
      part.files = o.files;
      part.encoding_number = static_cast<uint32_t>(other);
      break;
    }
    if (part.encoding_number == v) count += grid.size();
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
  if (!same) {
    RangeRecord& positions = ranges_.emplace_back();
    const auto first = Allocate(std::max<uint64_t>(count, 1), nullptr, &positions);
    if (!first) {
      ranges_.pop_back();
      return nullptr;
    }
    positions.record = record;
    positions.first = *first;
    positions.chunks_fingerprint = chunks_fingerprint;
    positions.views_fingerprint = views_fingerprint;
    positions.epochs = same_chunks
                           ? before->epochs
                           : std::make_shared<EpochTable>(node.chunks->layout().outer_grid.size());
    if (before != nullptr) before->kept = before->range.lock();
    record->range = &positions;
  }
  range.epochs = record->range->epochs;
  for (auto& part : range.views) {
    part.files += record->range->first;
    part.folders += record->range->first;
  }
  record->range->range = made;
  record->range->kept = nullptr;
  return made;
}

Result<NodeRecord*> NodeTable::RecordOf(const std::string& path) {
  {
    const std::shared_lock lock(mutex_);
    if (const auto found = by_path_.find(path); found != by_path_.end()) return found->second;
  }
  const std::unique_lock lock(mutex_);
  if (const auto found = by_path_.find(path); found != by_path_.end()) return found->second;
  NodeRecord& made = records_.emplace_back();
  const auto block = Allocate(NodeRecord::kBlock, &made, nullptr);
  if (!block) {
    records_.pop_back();
    return Fail(ErrorCode::kUnsupported, "{}: no node ids are left", path);
  }
  made.path = path;
  made.block = *block;
  by_path_.emplace(made.path, &made);
  return &made;
}

CurrentNode NodeTable::LastSeen(NodeRecord& record) const {
  record.was_used = true;
  const std::lock_guard record_lock(record.mutex);
  CurrentNode seen{&record, record.node, record.document_epoch, nullptr};
  if (record.range == nullptr || record.is_group) return seen;
  const std::shared_lock lock(mutex_);
  seen.range = record.range->kept != nullptr ? record.range->kept : record.range->range.lock();
  return seen;
}

Result<CurrentNode> NodeTable::Refresh(const NodePtr& node) {
  const auto found = RecordOf(node->path);
  if (!found) return Fail(found);
  NodeRecord* const record = *found;
  if (!record->was_used.load(std::memory_order_relaxed)) record->was_used = true;
  bool was_given_up = false;
  CurrentNode seen{record, node, 0, nullptr};
  {
    const std::lock_guard lock(record->mutex);
    if (record->node != node) {
      was_given_up = record->node == nullptr;
      Replace(*record, node);
    }
    seen.document_epoch = record->document_epoch;
    seen.range = std::static_pointer_cast<const ArrayRange>(node->companion);
  }
  if (was_given_up) {
    {
      const std::lock_guard lock(held_mutex_);
      held_.push_back(record);
    }
    Evict();
  }
  if (node->chunks != nullptr && seen.range == nullptr) {
    return Fail(ErrorCode::kUnsupported, "{}: no node ids are left for its chunks", node->path);
  }
  return seen;
}

void NodeTable::Replace(NodeRecord& record, const NodePtr& node) {
  const NodePtr before = std::exchange(record.node, node);
  held_bytes_ += node->bytes_in_memory - record.bytes;
  record.bytes = node->bytes_in_memory;
  const Digest fingerprint = DocumentsFingerprint(*node);
  if (record.documents_fingerprint && record.documents_fingerprint != fingerprint) {
    auto& past = record.past_documents;
    if (past.size() >= NodeRecord::kMaxPastDocuments) past.erase(past.begin());
    // (If it was given up, nobody has read them for long.)
    if (before != nullptr) past.emplace_back(record.document_epoch, before);
    ++record.document_epoch;
  }
  record.documents_fingerprint = fingerprint;
  if (node->array() != nullptr && !record.was_array) {
    record.was_array = true;
    arrays_.fetch_add(1, std::memory_order_relaxed);
  }
  if (node->metadata) record.is_group = node->group() != nullptr;
  if (node->chunks != nullptr) {
    node->companion = RefreshRange(*node, &record);
  } else if (record.range != nullptr) {
    // (Perhaps its metadata are half written this moment.)
    const std::unique_lock lock(mutex_);
    if (auto range = record.range->range.lock()) record.range->kept = std::move(range);
  }
}

void NodeTable::Evict() {
  size_t looks = 0;
  while (held_bytes_ > node_bytes_) {
    NodeRecord* record = nullptr;
    {
      const std::lock_guard lock(held_mutex_);
      if (held_.size() <= kAlwaysHeld || ++looks > 2 * held_.size()) return;
      record = held_.front();
      held_.pop_front();
      if (record->was_used.exchange(false)) {
        held_.push_back(record);
        continue;
      }
    }
    NodePtr given_up;  // what it holds is freed without a lock
    const std::lock_guard lock(record->mutex);
    given_up.swap(record->node);
    held_bytes_ -= std::exchange(record->bytes, 0);
  }
}

RangePtr NodeTable::RangeOf(NodeRecord& record) const {
  const std::lock_guard record_lock(record.mutex);
  if (record.range == nullptr) return nullptr;
  const std::shared_lock lock(mutex_);
  return record.range->range.lock();
}

NodeRecord* NodeTable::Find(std::string_view path) const {
  const std::shared_lock lock(mutex_);
  const auto found = by_path_.find(path);
  return found == by_path_.end() ? nullptr : found->second;
}

void NodeTable::FillTarget(const RangePtr& given, uint64_t position, Target& target) {
  const ArrayRange& range = *given;
  target.range = given;
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
  RangePtr range;
  {
    const std::shared_lock lock(mutex_);
    const std::vector<Span>& spans = position >= kHighStart ? high_ : low_;
    const auto after = std::ranges::upper_bound(spans, position, {}, &Span::first);
    if (after == spans.begin()) return std::nullopt;
    span = *std::prev(after);
    if (span.range != nullptr) {
      range = span.range->kept != nullptr ? span.range->kept : span.range->range.lock();
    }
  }
  if (position - span.first >= span.count) return std::nullopt;
  if (span.range != nullptr) {
    target.record = span.range->record;
    if (range == nullptr) {
      target.kind = Target::Kind::kUnloaded;
      return target;
    }
    FillTarget(range, position, target);
    if (target.kind == Target::Kind::kRoot) return std::nullopt;
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
