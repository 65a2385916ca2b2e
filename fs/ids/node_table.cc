#include "fs/ids/node_table.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <new>
#include <tuple>
#include <utility>

namespace zarrfs {
namespace {

// The number of nodes that are cached even if they are large, because otherwise each request would
// load them again.
constexpr size_t kAlwaysHeld = 8;
// If the cached nodes take more than this, and more than the limit `node_bytes_`, all except one
// can be evicted.
constexpr size_t kVeryLarge = size_t{256} << 20;

Digest DocumentsDigest(const Node& node) {
  DigestBuilder all;
  for (const NodeView& view : node.views) all.Add(view.documents_digest);
  return all.Finish();
}

// Computes RangeRecord::files. Chunks with the same encoding differ only by the fill value, and by
// whether missing chunks have files.
Digest FilesDigest(const Node& node) {
  DigestBuilder all;
  all.Add(ChunksText(*node.array(), /*without_rows=*/true));
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

NodeTable::NodeTable(const ViewSet& listed_views, IdJournal& journal, size_t node_bytes,
                     size_t max_past)
    : listed_views_(listed_views),
      node_bytes_(node_bytes),
      epoch_usage_(std::make_shared<EpochTable::Usage>(max_past)),
      journal_(journal) {
  Inherit();
}

void NodeTable::Inherit() {
  static_assert(IdJournal::kPositions == uint64_t{1} << kPositionBits);
  const auto has_block = [](const IdJournal::Node& node) {
    return node.count == NodeRecord::kBlock;
  };
  if (!std::ranges::all_of(journal_.kept().nodes, has_block)) journal_.Reject();
  const IdJournal::Kept& kept = journal_.kept();
  std::vector<Span> spans;
  std::vector<NodeRecord*> records;
  for (const IdJournal::Node& node : kept.nodes) {
    NodeRecord& record = records_.emplace_back();
    records.push_back(&record);
    spans.push_back({node.block, node.count, &record, nullptr, 0});
    record.path = node.path;
    record.block = node.block;
    record.document_epoch = node.document_epoch;
    record.documents = node.documents;
    by_path_.emplace(record.path, &record);
  }
  std::vector<std::shared_ptr<EpochTable>> tables(kept.tables);
  for (size_t r = 0; r < kept.ranges.size(); ++r) {
    const IdJournal::Range& range = kept.ranges[r];
    RangeRecord& made = ranges_.emplace_back();
    made.record = records[range.node];
    made.number = static_cast<uint32_t>(r);
    made.files = range.files;
    made.rows = range.rows;
    for (const IdJournal::Segment& segment : range.segments) {
      spans.push_back({segment.position, segment.count, nullptr, &made, made.segments.size()});
      made.segments.push_back({segment.first_row, segment.rows, segment.position});
    }
    made.is_inherited = true;
    auto& table = tables[range.table];
    if (table == nullptr) {
      table = std::make_shared<EpochTable>(range.objects, epoch_usage_, &journal_, range.table);
    }
    made.epochs = table;
    made.record->range = &made;  // if a node has several ranges, the last one is current
  }
  for (const IdJournal::Epoch& epoch : kept.epochs) {
    if (tables[epoch.table] != nullptr) tables[epoch.table]->Inherit(epoch);
  }
  std::ranges::sort(spans, {}, &Span::first);
  for (const Span& span : spans) Publish(span);
}

bool NodeTable::Fits(const RangeRecord& positions, const ArrayRange& range) const {
  return std::ranges::all_of(positions.segments, [&](const ArrayRange::Segment& segment) {
    const auto& spans = segment.position >= kHighStart ? high_ : low_;
    const Span* const span = spans.LastUpTo(&Span::first, segment.position);
    return span != nullptr && span->count == range.PositionsOf(segment.rows);
  });
}

void NodeTable::Publish(const Span& span) {
  (span.first >= kHighStart ? high_ : low_).Append(span);
}

bool NodeTable::Cover(RangeRecord& positions, const ArrayRange& range, uint64_t rows) {
  const uint64_t covered = positions.covered_rows();
  if (!positions.segments.empty() && rows <= covered) return true;
  uint64_t more = rows - covered;
  // An array that has grown may grow again, so at least doubles the covered rows, unless that needs
  // positions that 32-bit programs cannot stat.
  const uint64_t doubled = std::max(more, covered);
  if (journal_.next_low() + range.PositionsOf(doubled) <= kHighStart) more = doubled;
  const uint64_t count = range.PositionsOf(more);
  const auto position = journal_.Allocate(count);
  if (!position) return false;
  const size_t segment = positions.segments.size();
  positions.segments.push_back({covered, more, *position});
  try {
    journal_.AddSegment(positions.number, {covered, more, *position, count});
    Publish({*position, count, nullptr, &positions, segment});
  } catch (const std::bad_alloc&) {
    positions.segments.pop_back();
    throw;
  }
  return true;
}

RangePtr NodeTable::RefreshRange(const Node& node, NodeRecord& record) {
  const Digest files = FilesDigest(node);
  // Does not use make_shared(), because weak pointers would then keep the memory of the range
  // allocated.
  const std::shared_ptr<ArrayRange> made(new ArrayRange(node, &record, listed_views_));
  const uint64_t rows = made->rows();
  const WriterLock lock(mutex_);
  RangeRecord* const before = record.range;
  // Records of another process may be wrong, so they are checked before their first use.
  const bool is_doubtful = before != nullptr && before->is_inherited;
  if (before == nullptr || before->files != files || rows < before->rows ||
      (is_doubtful && !Fits(*before, *made))) {
    const uint64_t objects = node.chunks->layout().outer_grid.size();
    RangeRecord& positions = ranges_.emplace_back();
    positions.record = &record;
    positions.files = files;
    positions.epochs =
        before != nullptr && before->source == node.chunks->id()
            ? before->epochs
            : std::make_shared<EpochTable>(objects, epoch_usage_, &journal_, journal_.NewTable());
    positions.number = journal_.AddRange(record.block, files, positions.epochs->number(), objects,
                                         NamingOf(*made));
    record.range = &positions;
  } else if (auto known = before->Get(); known != nullptr && known->chunks == node.chunks) {
    return known;
  }
  RangeRecord& positions = *record.range;
  record.range = before;  // keeps the old range until all steps have succeeded
  if (!Cover(positions, *made, rows)) {
    if (&positions != before) ranges_.pop_back();
    return nullptr;
  }
  if (before != nullptr && &positions != before) {
    before->Keep();
    replaced_.emplace_back(Clock::now(), before);
  }
  if (positions.rows != rows) journal_.AddRows(positions.number, rows);
  positions.rows = rows;
  positions.source = node.chunks->id();
  made->epochs = positions.epochs;
  made->SetSegments(positions.segments);
  if (before != nullptr) before->is_inherited = false;
  record.range = &positions;
  positions.Set(made);
  return made;
}

NodeTable::Clock::time_point NodeTable::Sweep(Clock::time_point now) {
  const WriterLock lock(mutex_);
  while (!replaced_.empty() && now - replaced_.front().first >= kReplacedRangeGrace) {
    RangeRecord& range = *replaced_.front().second;
    range.Drop();
    range.epochs = nullptr;
    replaced_.pop_front();
  }
  return replaced_.empty() ? Clock::time_point::max()
                           : replaced_.front().first + kReplacedRangeGrace;
}

std::vector<std::pair<NodeRecord*, std::shared_ptr<EpochTable>>> NodeTable::EpochTables() const {
  const ReaderLock lock(mutex_);
  std::vector<std::pair<NodeRecord*, std::shared_ptr<EpochTable>>> tables;
  for (const RangeRecord& range : ranges_) {
    if (range.epochs != nullptr) tables.emplace_back(range.record, range.epochs);
  }
  return tables;
}

Result<NodeRecord*> NodeTable::RecordOf(const std::string& path) {
  if (NodeRecord* const known = Find(path)) return known;
  const WriterLock lock(mutex_);
  if (const auto found = by_path_.find(path); found != by_path_.end()) return found->second;
  NodeRecord& made = records_.emplace_back();
  try {
    const auto block = journal_.Allocate(NodeRecord::kBlock);
    if (!block) {
      records_.pop_back();
      return Fail(ErrorCode::kUnsupported, "{}: no node ids are left", path);
    }
    made.path = path;
    made.block = *block;
    by_path_.emplace(made.path, &made);
    journal_.AddNode(*block, NodeRecord::kBlock, path);
    Publish({*block, NodeRecord::kBlock, &made, nullptr, 0});
  } catch (const std::bad_alloc&) {
    by_path_.erase(made.path);
    records_.pop_back();
    throw;
  }
  return &made;
}

void NodeTable::SetWasArray(NodeRecord& record) {
  if (!record.was_array && !record.was_array.exchange(true)) {
    arrays_.fetch_add(1, std::memory_order_relaxed);
  }
}

Result<NodeRecord*> NodeTable::RecordOfArray(const std::string& path) {
  auto found = RecordOf(path);
  if (found) SetWasArray(**found);
  return found;
}

Result<NodeRecord*> NodeTable::Refresh(const Outline& outline) {
  auto found = RecordOf(outline.path);
  if (!found) return found;
  NodeRecord& record = **found;
  const MutexLock lock(record.mutex);
  // A cached node is more recent than the outline.
  if (record.node == nullptr) {
    record.is_another = record.is_another || record.shape.value_or(outline.shape) != outline.shape;
    record.shape = outline.shape;
  }
  return found;
}

CurrentNode NodeTable::LastSeen(NodeRecord& record) const {
  record.was_used = true;
  const MutexLock record_lock(record.mutex);
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
    const MutexLock lock(record->mutex);
    if (record->node != nullptr && record->node->number > node->number) {
      seen.node = record->node;  // another thread has a later snapshot
    } else if (record->node != node) {
      was_evicted = record->node == nullptr;
      Replace(*record, node);
    }
    seen.document_epoch = record->document_epoch;
    seen.range = record->current;
  }
  if (was_evicted) {
    Hold(record);
    EvictDownTo(node_bytes_, /*all=*/false);
  }
  if (seen.node->chunks != nullptr && seen.range == nullptr) {
    return Fail(ErrorCode::kUnsupported, "{}: no node ids are left for its chunks", node->path);
  }
  return seen;
}

void NodeTable::Hold(NodeRecord* record) try {
  const MutexLock lock(held_mutex_);
  held_.push_back(record);
} catch (const std::bad_alloc&) {
  const MutexLock lock(record->mutex);
  record->node = nullptr;
  throw;
}

void NodeTable::Replace(NodeRecord& record, const NodePtr& node) try {
  const NodePtr before = std::exchange(record.node, node);
  held_bytes_ += node->bytes_in_memory - record.bytes;
  record.bytes = node->bytes_in_memory;
  const Digest documents = DocumentsDigest(*node);
  if (record.documents && record.documents != documents) {
    auto& past = record.past_documents;
    if (past.size() >= NodeRecord::kMaxPastDocuments) past.erase(past.begin());
    // If `before` is null, the node and its old documents were evicted, because they have not been
    // read for a long time.
    if (before != nullptr) past.emplace_back(record.document_epoch, before);
    ++record.document_epoch;
  }
  if (record.documents != documents) {
    journal_.AddDocuments(record.block, documents, record.document_epoch);
  }
  record.documents = documents;
  if (node->array() != nullptr) SetWasArray(record);
  if (node->metadata) record.is_group = node->group() != nullptr;
  const uint64_t shape = ShapeOf(*node);
  record.is_another = record.is_another || record.shape.value_or(shape) != shape;
  record.shape = shape;
  if (node->chunks != nullptr) {
    record.current = RefreshRange(*node, record);
    if (record.ranges.empty() || record.ranges.back() != record.range) {
      record.is_another = record.is_another || !record.ranges.empty();
      record.ranges.push_back(record.range);
    }
    return;
  }
  if (record.range != nullptr) {
    record.range->Keep();  // the metadata of the array may be half written at this moment
  }
  record.current = nullptr;
} catch (const std::bad_alloc&) {
  // Leaves the record as if the node had been evicted, so the next caller stores the whole
  // snapshot.
  record.node = nullptr;
  record.current = nullptr;
  throw;
}

void NodeTable::EvictDownTo(size_t bytes, bool all) {
  size_t looks = 0;
  while (held_bytes_ > bytes) {
    NodeRecord* record = nullptr;
    {
      const MutexLock lock(held_mutex_);
      const bool is_too_much = held_bytes_ > std::max(node_bytes_, kVeryLarge);
      const size_t least = all ? 0 : (is_too_much ? 1 : kAlwaysHeld);
      if (held_.size() <= least || ++looks > 2 * held_.size()) return;
      record = held_.front();
      held_.pop_front();
      if (record->was_used.exchange(false)) {
        held_.push_back(record);
        continue;
      }
    }
    NodePtr node;  // freed after unlocking
    RangePtr range;
    decltype(record->past_documents) past;
    const MutexLock lock(record->mutex);
    node.swap(record->node);
    if (all) past.swap(record->past_documents);
    range.swap(record->current);
    if (record->range != nullptr) record->range->Release();
    held_bytes_ -= std::exchange(record->bytes, 0);
  }
}

RangePtr NodeTable::RangeOf(NodeRecord& record) const {
  const MutexLock record_lock(record.mutex);
  return record.range == nullptr ? nullptr : record.range->Get();
}

bool NodeTable::HasBelow(std::string_view path) const {
  const ReaderLock lock(mutex_);
  return std::ranges::any_of(by_path_, [path](const auto& entry) {
    const std::string_view other = entry.first;
    return other.size() > path.size() && other.starts_with(path) &&
           (path.empty() || other[path.size()] == '/');
  });
}

TakenChange NodeTable::TakeChange(NodeRecord& record, bool is_there) {
  const MutexLock lock(record.mutex);
  TakenChange change;
  change.is_another = std::exchange(record.is_another, !is_there) || !is_there;
  for (const RangeRecord* const range : record.ranges) {
    if (RangePtr chunks = range->Get()) change.ranges.push_back(std::move(chunks));
  }
  if (!record.ranges.empty()) record.ranges.erase(record.ranges.begin(), record.ranges.end() - 1);
  return change;
}

NodeRecord* NodeTable::Find(std::string_view path) const {
  const ReaderLock lock(mutex_);
  const auto found = by_path_.find(path);
  return found == by_path_.end() ? nullptr : found->second;
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
    const FileKind kind = KindOfChunk(target.epoch);
    const ArrayRange::Place place = range->PlaceOf(span.segment, position, kind);
    target.range = range;
    target.view = place.view;
    if (place.chunk) {
      target.kind = Target::Kind::kChunk;
      target.file = kind;
      target.chunk = *place.chunk;
    } else if (place.level) {
      target.kind = Target::Kind::kChunkFolder;
      target.prefix = place.prefix;
      target.level = *place.level;
    } else {
      return std::nullopt;
    }
    return target;
  }
  const uint64_t slot = position - span.first;
  target.record = span.record;
  target.view = slot / NodeRecord::kSlots;
  if (target.view >= AllViews().size()) return std::nullopt;
  if (slot % NodeRecord::kSlots == 0) {
    target.kind = Target::Kind::kFolder;
    return target;
  }
  target.kind = Target::Kind::kDocument;
  target.document = slot % NodeRecord::kSlots - 1;
  target.file = target.epoch == kUnreadableEpoch
                    ? FileKind::kUnreadable
                    : KindOfDocument(target.record->path, target.view, target.document);
  return target;
}

}  // namespace zarrfs
