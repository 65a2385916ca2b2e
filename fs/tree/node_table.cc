#include "fs/tree/node_table.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <tuple>
#include <utility>

namespace zarrfs {
namespace {

// Nodes, however large: they are not to be looked at as new ones by each request.
constexpr size_t kAlwaysHeld = 8;

Digest DocumentsDigest(const Node& node) {
  DigestBuilder all;
  for (const NodeView& view : node.views) all.Add(view.documents_digest);
  return all.Finish();
}

// See NodeRecord::shape.
uint64_t ShapeOf(const Node& node) {
  DigestBuilder all;
  all.Add(node.document);
  all.Add(uint64_t{node.metadata.has_value()});
  all.Add(uint64_t{node.group() != nullptr});
  all.Add(uint64_t{node.below_ome});
  for (const ObjectInfo* info : {&node.info, &node.folder_info}) {
    for (const uint64_t each : {info->mode, info->uid, info->gid}) all.Add(each);
  }
  for (const NodeView& view : node.views) {
    all.Add(uint64_t{view.hidden.has_value()});
    all.Add(view.consolidated);
  }
  return DigestHash{}(all.Finish());
}

// See RangeRecord::files. (Of the same chunks in the same encoding, only the fill value makes a
// difference, and whether there are files of it.)
Digest FilesDigest(const Node& node) {
  DigestBuilder all;
  all.Add(ChunksText(*node.array()));
  for (const NodeView& view : node.views) {
    all.Add(uint64_t{view.array.has_value()});
    if (!view.array) continue;
    const auto& [naming, encoding, fill] =
        std::tie(view.array->naming, view.array->encoding, view.array->fill_chunk);
    all.Add(fmt::format("{}{} {} {} {} {} {} {} {}", naming.prefix_c, naming.separator,
                        static_cast<int>(encoding.kind), encoding.cut_front, encoding.cut_back,
                        encoding.size, encoding.is_wide, encoding.as_stored, encoding.extent));
    all.Add(uint64_t{fill != nullptr});
    if (fill != nullptr) all.Add(std::span(fill->fill()));
  }
  return all.Finish();
}

}  // namespace

NodeId ArrayRange::FolderId(size_t view, std::span<const uint64_t> prefix) const {
  const auto& counts = chunks->layout().inner_grid.counts();
  uint64_t linear = 0;
  for (size_t d = 0; d < prefix.size(); ++d) linear = linear * counts[d] + prefix[d];
  return MakeId(views[view].folders + folder_offsets[prefix.size()] + linear, 0);
}

uint32_t ArrayRange::ObserveEpoch(const ChunkLocation& location) const {
  const OpenShard& shard = *location.shard;
  const uint32_t epoch = epochs->Observe(ToNumber(location.outer), shard.fingerprint);
  shard.epoch_note.store(epoch + 1, std::memory_order_relaxed);
  return epoch;
}

std::optional<uint32_t> ArrayRange::KnownEpoch(const ChunkLocation& location) const {
  const OpenShard& shard = *location.shard;
  const uint32_t note = shard.epoch_note.load(std::memory_order_relaxed);
  if (note != 0) return note - 1;
  // Opened anew since, or a plain chunk of which a look-up only asked the size.
  const auto epoch = epochs->Known(ToNumber(location.outer), shard.fingerprint);
  if (epoch) shard.epoch_note.store(*epoch + 1, std::memory_order_relaxed);
  return epoch;
}

std::atomic<uint64_t> RangeRecord::last_id_ = 0;

RangePtr RangeRecord::Get() const {
  const std::lock_guard lock(mutex_);
  return kept_ != nullptr ? kept_ : range_.lock();
}

RangePtr RangeRecord::GetAgain() const {
  thread_local uint64_t last_id = 0;
  thread_local uint64_t last_version = 0;
  thread_local RangePtr last;
  const uint64_t version = version_.load(std::memory_order_acquire);
  if (last_id == id_ && last_version == version && last != nullptr) return last;
  last = nullptr;  // else it would be what keeps them
  last = Get();
  last_id = id_;
  last_version = version;
  return last;
}

void RangeRecord::Set(const RangePtr& range) {
  const std::lock_guard lock(mutex_);
  range_ = range;
  kept_ = nullptr;
  version_.fetch_add(1, std::memory_order_release);
}

void RangeRecord::Keep() {
  const std::lock_guard lock(mutex_);
  if (auto range = range_.lock()) kept_ = std::move(range);
  version_.fetch_add(1, std::memory_order_release);
}

std::optional<uint64_t> NodeTable::Allocate(uint64_t count) {
  const bool high = count > kHighCount || next_low_ + count > kHighStart;
  uint64_t& next = high ? next_high_ : next_low_;
  if (count > (uint64_t{1} << kPositionBits) - next) return std::nullopt;
  const uint64_t first = next;
  next += count;
  return first;
}

void NodeTable::Publish(const Span& span) {
  (span.first >= kHighStart ? high_ : low_).Append(span);
}

std::pair<std::shared_ptr<ArrayRange>, uint64_t> NodeTable::MakeRange(const Node& node) const {
  // (Not in one piece with its counts, which weak pointers would keep it by.)
  const std::shared_ptr<ArrayRange> made(new ArrayRange);
  ArrayRange& range = *made;
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
  uint64_t count = 0;
  for (size_t v = 0; v < AllViews().size(); ++v) {
    const auto& view = node.views[v].array;
    auto& part = range.views[v];
    if (!view) continue;
    part.shown = true;
    part.naming = view->naming;
    part.encoding = view->encoding;
    part.fill_chunk = view->fill_chunk;
    const auto same = std::ranges::find_if(range.views, [&](const ArrayRange::ViewPart& other) {
      return other.shown && other.encoding == part.encoding;
    });
    part.encoding_number = static_cast<uint32_t>(same - range.views.begin());
    part.files = same == range.views.begin() + v ? count : same->files;
    if (part.encoding_number == v) count += grid.size();
  }
  for (auto& part : range.views) {
    part.folders = count;
    if (part.shown && part.naming.nested()) part.folder_count = folder_count;
    count += part.folder_count;
    part.links = 0;
    for (size_t other = 0; part.shown && other < AllViews().size(); ++other) {
      const bool is_link = range.views[other].shown && (shown_views_ >> other & 1) != 0;
      if (is_link && range.views[other].files == part.files) ++part.links;
    }
  }
  return {made, count};
}

RangePtr NodeTable::RefreshRange(const Node& node, NodeRecord& record) {
  const Digest files = FilesDigest(node);
  const auto [made, count] = MakeRange(node);
  made->record = &record;
  const std::unique_lock lock(mutex_);
  RangeRecord* const before = record.range;
  if (before == nullptr || before->files != files) {
    RangeRecord& positions = ranges_.emplace_back();
    const auto first = Allocate(std::max<uint64_t>(count, 1));
    if (!first) {
      ranges_.pop_back();
      return nullptr;
    }
    positions.record = &record;
    positions.first = *first;
    positions.files = files;
    positions.epochs = before != nullptr && before->source == node.chunks->id()
                           ? before->epochs
                           : std::make_shared<EpochTable>(node.chunks->layout().outer_grid.size());
    if (before != nullptr) before->Keep();
    record.range = &positions;
    Publish({*first, std::max<uint64_t>(count, 1), nullptr, &positions});
  } else if (auto known = before->Get(); known != nullptr && known->chunks == node.chunks) {
    return known;
  }
  record.range->source = node.chunks->id();
  made->epochs = record.range->epochs;
  for (auto& part : made->views) {
    part.files += record.range->first;
    part.folders += record.range->first;
  }
  record.range->Set(made);
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
  const auto block = Allocate(NodeRecord::kBlock);
  if (!block) {
    records_.pop_back();
    return Fail(ErrorCode::kUnsupported, "{}: no node ids are left", path);
  }
  made.path = path;
  made.block = *block;
  by_path_.emplace(made.path, &made);
  Publish({*block, NodeRecord::kBlock, &made, nullptr});
  return &made;
}

CurrentNode NodeTable::LastSeen(NodeRecord& record) const {
  record.was_used = true;
  const std::lock_guard record_lock(record.mutex);
  CurrentNode seen{&record, record.node, record.document_epoch, nullptr};
  if (record.range != nullptr && !record.is_group) seen.range = record.range->Get();
  return seen;
}

Result<CurrentNode> NodeTable::Refresh(const NodePtr& node) {
  const auto found = RecordOf(node->path);
  if (!found) return Fail(found);
  NodeRecord* const record = *found;
  if (!record->was_used.load(std::memory_order_relaxed)) record->was_used = true;
  bool was_evicted = false;
  CurrentNode seen{record, node, 0, nullptr};
  {
    const std::lock_guard lock(record->mutex);
    if (record->node != node) {
      was_evicted = record->node == nullptr;
      Replace(*record, node);
    }
    seen.document_epoch = record->document_epoch;
    seen.range = record->current;
  }
  if (was_evicted) {
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
  const Digest documents = DocumentsDigest(*node);
  if (record.documents && record.documents != documents) {
    auto& past = record.past_documents;
    if (past.size() >= NodeRecord::kMaxPastDocuments) past.erase(past.begin());
    // (If it was evicted, nobody has read them for long.)
    if (before != nullptr) past.emplace_back(record.document_epoch, before);
    ++record.document_epoch;
  }
  record.documents = documents;
  if (node->array() != nullptr && !record.was_array) {
    record.was_array = true;
    arrays_.fetch_add(1, std::memory_order_relaxed);
  }
  if (node->metadata) record.is_group = node->group() != nullptr;
  const uint64_t shape = ShapeOf(*node);
  record.is_another = record.is_another || std::exchange(record.shape, shape) != shape;
  if (node->chunks != nullptr) {
    record.current = RefreshRange(*node, record);
    if (record.ranges.empty() || record.ranges.back() != record.range) {
      record.ranges.push_back(record.range);
      record.is_another = true;
    }
    return;
  }
  if (record.range != nullptr) {
    record.range->Keep();  // perhaps its metadata are half written this moment
  }
  record.current = nullptr;
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
    NodePtr node;  // freed without a lock
    RangePtr range;
    const std::lock_guard lock(record->mutex);
    node.swap(record->node);
    range.swap(record->current);
    if (record->range != nullptr) record->range->Release();
    held_bytes_ -= std::exchange(record->bytes, 0);
  }
}

RangePtr NodeTable::RangeOf(NodeRecord& record) const {
  const std::lock_guard record_lock(record.mutex);
  return record.range == nullptr ? nullptr : record.range->Get();
}

bool NodeTable::HasBelow(std::string_view path) const {
  const std::shared_lock lock(mutex_);
  return std::ranges::any_of(by_path_, [path](const auto& entry) {
    const std::string_view other = entry.first;
    return other.size() > path.size() && other.starts_with(path) &&
           (path.empty() || other[path.size()] == '/');
  });
}

TakenChange NodeTable::TakeChange(NodeRecord& record, bool is_there) {
  const std::lock_guard lock(record.mutex);
  TakenChange change;
  change.is_another = std::exchange(record.is_another, !is_there) || !is_there;
  for (const RangeRecord* const range : record.ranges) {
    if (RangePtr chunks = range->Get()) change.ranges.push_back(std::move(chunks));
  }
  if (!record.ranges.empty()) record.ranges = {record.range};
  return change;
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
      target.chunk = InnerIndex{position - part.files};
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
  const auto& spans = position >= kHighStart ? high_ : low_;
  const Span* const found = spans.LastUpTo(&Span::first, position);
  if (found == nullptr || position - found->first >= found->count) return std::nullopt;
  const Span span = *found;
  if (span.range != nullptr) {
    target.record = span.range->record;
    const RangePtr range = span.range->GetAgain();
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
