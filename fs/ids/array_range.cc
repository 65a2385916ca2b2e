#include "fs/ids/array_range.h"

#include <algorithm>
#include <tuple>

namespace zarrfs {

ArrayRange::ArrayRange(const Node& node, NodeRecord* record_of_node, const ViewSet& listed_views)
    : record(record_of_node), chunks(node.chunks) {
  const auto& counts = chunks->layout().inner_grid.counts();
  for (size_t d = 1; d < counts.size(); ++d) {
    // In an empty array, the other dimensions may have any size, so the product could overflow.
    if (chunks->layout().inner_grid.size() == 0) break;
    widths_.push_back(chunks_per_row_);
    folders_per_row_ += chunks_per_row_;
    chunks_per_row_ *= counts[d];
  }
  for (size_t v = 0; v < AllViews().size(); ++v) {
    const auto& view = node.views[v].array;
    auto& part = views[v];
    if (!view) continue;
    part.shown = true;
    part.naming = view->naming;
    part.encoding = view->encoding;
    part.fill_chunk = view->fill_chunk;
    const auto same = std::ranges::find_if(views, [&](const ViewPart& other) {
      return other.shown && other.encoding == part.encoding;
    });
    part.encoding_number = static_cast<uint32_t>(same - views.begin());
    part.file_block = part.encoding_number == v ? file_blocks_++ : same->file_block;
    part.has_folders = part.naming.nested() && rank() > 0;
    if (part.has_folders) part.folder_block = folder_blocks_++;
  }
  for (auto& part : views) {
    part.links = 0;
    for (size_t other = 0; part.shown && other < AllViews().size(); ++other) {
      const bool is_link = views[other].shown && listed_views[other];
      if (is_link && views[other].file_block == part.file_block) ++part.links;
    }
    part.links = std::max(part.links, 1U);
  }
}

uint64_t ArrayRange::rows() const {
  const auto& grid = chunks->layout().inner_grid;
  return grid.size() == 0 ? 0 : grid.rank() == 0 ? 1 : grid.counts()[0];
}

uint64_t ArrayRange::PositionsOf(uint64_t rows) const {
  const uint64_t count = file_blocks_ * rows * chunks_per_row_ + folder_blocks_ * FoldersIn(rows);
  return std::max<uint64_t>(count, 1);
}

void ArrayRange::SetSegments(std::vector<Segment> segments) {
  segments_ = std::move(segments);
  for (auto& part : views) part.files = FilesOf(segments_[0], part);
}

uint64_t ArrayRange::FilesOf(const Segment& segment, const ViewPart& part) const {
  return segment.position + part.file_block * segment.rows * chunks_per_row_;
}

uint64_t ArrayRange::FoldersOf(const Segment& segment, const ViewPart& part) const {
  return segment.position + file_blocks_ * segment.rows * chunks_per_row_ +
         part.folder_block * FoldersIn(segment.rows);
}

const ArrayRange::Segment& ArrayRange::SegmentOf(uint64_t row) const {
  // A linear search, because segments are few: most have at least as many rows as all earlier ones
  // together.
  size_t at = 0;
  while (at + 1 < segments_.size() && row >= segments_[at + 1].first_row) ++at;
  return segments_[at];
}

uint64_t ArrayRange::PositionInLaterSegment(const ViewPart& part, uint64_t chunk) const {
  const Segment& segment = SegmentOf(chunk / chunks_per_row_);
  return FilesOf(segment, part) + chunk - segment.first_row * chunks_per_row_;
}

NodeId ArrayRange::FolderId(size_t view, std::span<const uint64_t> prefix) const {
  const ViewPart& part = views[view];
  if (prefix.empty()) return MakeId(FoldersOf(segments_[0], part), 0);
  const auto& counts = chunks->layout().inner_grid.counts();
  const Segment& segment = SegmentOf(prefix[0]);
  uint64_t number = 1;  // folder 0 of a block is the folder of all chunks
  for (size_t level = 1; level < prefix.size(); ++level) {
    number += segment.rows * widths_[level - 1];
  }
  uint64_t linear = prefix[0] - segment.first_row;
  for (size_t d = 1; d < prefix.size(); ++d) linear = linear * counts[d] + prefix[d];
  return MakeId(FoldersOf(segment, part) + number + linear, 0);
}

void ArrayRange::FindFolder(const Segment& segment, uint64_t number, Place& place) const {
  const auto& counts = chunks->layout().inner_grid.counts();
  if (number == 0) {
    place.level = 0;
    return;
  }
  uint64_t linear = number - 1;
  size_t level = 1;
  for (; level <= widths_.size() && linear >= segment.rows * widths_[level - 1]; ++level) {
    linear -= segment.rows * widths_[level - 1];
  }
  for (size_t d = level; d-- > 1;) {
    place.prefix[d] = linear % counts[d];
    linear /= counts[d];
  }
  place.prefix[0] = segment.first_row + linear;
  if (place.prefix[0] < counts[0]) place.level = level;
}

ArrayRange::Place ArrayRange::PlaceOf(size_t segment, uint64_t position, FileKind kind) const {
  Place place;
  // True if the array grew after this range was made: the range lacks the new segment.
  if (segment >= segments_.size()) return place;
  const Segment& in = segments_[segment];
  const uint64_t files = in.rows * chunks_per_row_;  // the number of files per block
  uint64_t offset = position - in.position;
  const bool is_file = offset < file_blocks_ * files;
  if (!is_file) offset -= file_blocks_ * files;
  const uint64_t size = is_file ? files : FoldersIn(in.rows);
  for (size_t v = 0; v < AllViews().size(); ++v) {
    const ViewPart& part = views[v];
    const bool is_of_another_view = kind == FileKind::kFillChunk && part.fill_chunk == nullptr;
    if (!part.shown || (is_file ? is_of_another_view : !part.has_folders)) continue;
    if ((is_file ? part.file_block : part.folder_block) != offset / size) continue;
    place.view = v;
    if (is_file) {
      const uint64_t chunk = in.first_row * chunks_per_row_ + offset % size;
      if (chunk < chunks->layout().inner_grid.size()) place.chunk = InnerIndex{chunk};
    } else if (chunks->layout().inner_grid.size() > 0) {
      FindFolder(in, offset % size, place);
    }
    return place;
  }
  return place;
}

namespace {

constexpr int kBitsOfView = 4;
constexpr uint64_t kShown = 1;
constexpr uint64_t kPrefixC = 2;
constexpr uint64_t kNested = 4;
static_assert(8 + kMaxViews * kBitsOfView <= 64);

}  // namespace

uint64_t NamingOf(const ArrayRange& range) {
  uint64_t word = range.rank();
  for (size_t v = 0; v < kMaxViews; ++v) {
    const auto& [shown, naming] = std::tie(range.views[v].shown, range.views[v].naming);
    const uint64_t bits =
        shown ? kShown | (naming.prefix_c ? kPrefixC : 0) | (naming.nested() ? kNested : 0) : 0;
    word |= bits << (8 + v * kBitsOfView);
  }
  return word;
}

NamingInView NamingIn(uint64_t word, size_t view) {
  const uint64_t bits = word >> (8 + view * kBitsOfView);
  return {.rank = word & 0xff,
          .shown = (bits & kShown) != 0,
          .naming = {.prefix_c = (bits & kPrefixC) != 0,
                     .separator = (bits & kNested) != 0 ? '/' : '.'}};
}

uint32_t ArrayRange::ObserveEpoch(const ChunkLocation& location) const {
  const OpenShard& shard = *location.shard;
  const uint32_t epoch = epochs->Observe(ToNumber(location.outer), shard.fingerprint, shard.step);
  shard.epoch_note.store(epoch + 1, std::memory_order_relaxed);
  return epoch;
}

std::optional<uint32_t> ArrayRange::KnownEpoch(const ChunkLocation& location) const {
  const OpenShard& shard = *location.shard;
  const uint32_t note = shard.epoch_note.load(std::memory_order_relaxed);
  if (note != 0) return note - 1;
  // The shard does not record its epoch yet: it was opened again after its lookup, or the lookup
  // only stat'ed an unsharded chunk.
  const auto epoch = epochs->Known(ToNumber(location.outer), shard.fingerprint);
  if (epoch) shard.epoch_note.store(*epoch + 1, std::memory_order_relaxed);
  return epoch;
}

std::atomic<uint64_t> RangeRecord::last_id_ = 0;

RangePtr RangeRecord::Get() const {
  const MutexLock lock(mutex_);
  return kept_ != nullptr ? kept_ : range_.lock();
}

RangePtr RangeRecord::GetAgain() const {
  thread_local uint64_t last_id = 0;
  thread_local uint64_t last_version = 0;
  thread_local RangePtr last;
  const uint64_t version = version_.load(std::memory_order_acquire);
  if (last_id == id_ && last_version == version && last != nullptr) return last;
  // Otherwise Get() would find chunks that only this thread's cache keeps alive.
  last = nullptr;
  last = Get();
  last_id = id_;
  last_version = version;
  return last;
}

void RangeRecord::Set(const RangePtr& range) {
  const MutexLock lock(mutex_);
  range_ = range;
  kept_ = nullptr;
  version_.fetch_add(1, std::memory_order_release);
}

void RangeRecord::Drop() {
  RangePtr dropped;  // freed after unlocking
  const MutexLock lock(mutex_);
  dropped.swap(kept_);
  version_.fetch_add(1, std::memory_order_release);
}

void RangeRecord::Keep() {
  const MutexLock lock(mutex_);
  if (auto range = range_.lock()) kept_ = std::move(range);
  version_.fetch_add(1, std::memory_order_release);
}

}  // namespace zarrfs
