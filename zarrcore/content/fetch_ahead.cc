#include "zarrcore/content/fetch_ahead.h"

#include <algorithm>
#include <chrono>
#include <new>
#include <set>
#include <system_error>
#include <tuple>
#include <utility>

#include "zarrcore/base/answer_age.h"
#include "zarrcore/base/at_once.h"
#include "zarrcore/base/waiting.h"

namespace zarrfs {
namespace {

// Maximum age of the store's remembered answers that prefetching accepts.
constexpr Age kMaxAgeOfLearned = std::chrono::seconds(30);

}  // namespace

void FetchAhead::Stop() {
  std::vector<std::thread> threads;
  {
    const MutexLock lock(mutex_);
    is_over_ = true;
    tasks_.clear();
    threads.swap(threads_);
    arrived_.notify_all();
  }
  for (std::thread& thread : threads) thread.join();
}

FetchAhead::Array& FetchAhead::ArrayOf(const Source& source) {
  const auto known = std::ranges::find(arrays_, source, &Array::source);
  if (known != arrays_.end()) {
    arrays_.splice(arrays_.begin(), arrays_, known);
  } else {
    if (arrays_.size() == kArrays) arrays_.pop_back();
    arrays_.emplace_front(source);
  }
  return arrays_.front();
}

void FetchAhead::OnWanted(const ChunkFile& file) {
  const Source source = file.source.weak_from_this().lock();
  if (source == nullptr) return;
  const MutexLock lock(mutex_);
  if (is_over_) return;
  const uint64_t window = ranges_.Ahead();
  const uint64_t bytes = std::max<uint64_t>(file.location.length, 1);
  const uint64_t chunks = window / bytes;
  auto next = ArrayOf(source).order.OnWanted(
      file.chunk, chunks, [&](InnerIndex chunk) { return IsHere(*source, chunk); });
  if (next.chunks.empty()) return;
  auto plan = [this, source, next = std::move(next), chunks]() mutable {
    Plan(source, std::move(next), chunks);
  };
  (void)Enqueue({std::move(plan)}, /*first=*/true);
}

bool FetchAhead::IsHere(const ChunkSource& source, InnerIndex chunk) const {
  const NoWaiting scope;
  const auto found = source.Locate(chunk, kAnyAge);
  // A chunk that is known to be missing need not be fetched either.
  return found && (!found->location || ranges_.Has(source, *found->location));
}

bool FetchAhead::Enqueue(Task task, bool first) {
  if (is_over_ || tasks_.size() >= kMaxTasks) return false;
  first ? tasks_.push_front(std::move(task)) : tasks_.push_back(std::move(task));
  if (idle_ < tasks_.size() && threads_.size() < kThreads) {
    try {
      threads_.emplace_back([this] { Work(); });
    } catch (const std::system_error&) {
      // If no thread can be started, the existing threads run the task.
    }
  }
  arrived_.notify_one();
  return true;
}

void FetchAhead::Work() {
  MutexLock lock(mutex_);
  for (;;) {
    ++idle_;
    arrived_.wait(lock, [&]() REQUIRES(mutex_) {
      return is_over_ || (!tasks_.empty() && MayBegin(tasks_.front()));
    });
    --idle_;
    if (is_over_) return;
    const Task task = std::move(tasks_.front());
    tasks_.pop_front();
    const size_t fetches = task.bytes > 0 ? 1 : 0;
    under_way_ += fetches;
    bytes_under_way_ += task.bytes;
    // This thread may have received the wakeup for the next task, so it wakes another thread.
    if (!tasks_.empty()) arrived_.notify_one();
    lock.unlock();
    try {
      task.work();
    } catch (const std::bad_alloc&) {
      // If memory runs out here, the thread that reads the chunk gets the same error and reports
      // it.
    }
    lock.lock();
    under_way_ -= fetches;
    bytes_under_way_ -= task.bytes;
  }
}

bool FetchAhead::HasIndexes(const ChunkSource& source) {
  const ArrayLayout& layout = source.layout();
  // If the array applies codecs to whole shards, a shard's index can be read only after the whole
  // shard is decoded.
  return layout.is_sharded() && layout.levels.front().around.empty();
}

bool FetchAhead::IsKnown(const ChunkSource& source, InnerIndex chunk) {
  const NoWaiting scope;
  return source.Locate(chunk, kAnyAge).has_value();
}

std::vector<InnerIndex> FetchAhead::FirstOfShards(const ChunkSource& source,
                                                  const std::vector<InnerIndex>& chunks,
                                                  size_t most) {
  std::set<OuterIndex> shards;
  std::vector<InnerIndex> firsts;
  for (const InnerIndex chunk : chunks) {
    if (shards.size() == most) break;
    if (shards.insert(source.OuterOf(chunk)).second) firsts.push_back(chunk);
  }
  return firsts;
}

void FetchAhead::LearnIndexes(const ChunkSource& source, const std::vector<InnerIndex>& chunks) {
  // The locations are as old as the remembered answers, so callers that require newer locations
  // query the store again.
  const AcceptedAnswers accepted(kMaxAgeOfLearned, {});
  AtOnce(chunks.size(), kShardsAtOnce, [&](size_t i) { (void)source.Locate(chunks[i], kAnyAge); });
}

std::vector<FetchAhead::Piece> FetchAhead::Locate(const ChunkSource& source,
                                                  const ArrayOrder::Next& next) const {
  const NoWaiting scope;
  std::vector<Piece> found;
  const auto add = [&](const std::vector<InnerIndex>& chunks, bool is_later) {
    for (size_t i = 0; i < chunks.size(); ++i) {
      auto located = source.Locate(chunks[i], kAnyAge);
      if (!located || !located->location) continue;
      ChunkLocation& at = *located->location;
      const bool is_kept = !at.shard->is_in_memory && !source.IsRacy(*at.shard);
      if (is_kept && at.length <= StoredRanges::kBlock && !ranges_.Has(source, at)) {
        found.push_back({std::move(at), is_later ? Piece::kLater : i});
      }
    }
  };
  add(next.chunks, false);
  add(next.later, true);
  return found;
}

std::vector<FetchAhead::Range> FetchAhead::Join(const ChunkSource& source,
                                                std::vector<Piece> pieces) const {
  std::ranges::sort(pieces, {}, [](const Piece& piece) {
    return std::tuple(piece.chunk.outer, piece.chunk.shard->fingerprint, piece.chunk.offset);
  });
  // No gap that is fetched may have more bytes than all needed chunks together.
  uint64_t wanted = 0;
  for (const Piece& piece : pieces) {
    if (piece.place != Piece::kLater) wanted += piece.chunk.length;
  }
  const uint64_t gap = ranges_.IsWasteful() ? 0 : std::min(kGap, wanted);
  std::vector<Range> ranges;
  for (Piece& piece : pieces) {
    const ChunkLocation& chunk = piece.chunk;
    const uint64_t end = chunk.offset + chunk.length;
    const auto is_near = [&](const Range& last) {
      const bool may_have_gap = piece.place != Piece::kLater && last.bytes_now > 0;
      return last.chunk.outer == chunk.outer &&
             last.chunk.shard->fingerprint == chunk.shard->fingerprint &&
             chunk.offset <= last.end + (may_have_gap ? gap : 0) &&
             end - last.begin <= StoredRanges::kBlock &&
             !ranges_.HasAnyOf(source, chunk, last.end, chunk.offset);
    };
    if (ranges.empty() || !is_near(ranges.back())) {
      ranges.push_back({chunk, chunk.offset, end, chunk.offset, end});
    }
    Range& range = ranges.back();
    range.end = std::max(range.end, end);
    if (piece.place == Piece::kLater) {
      range.bytes_later += chunk.length;
      continue;
    }
    if (range.bytes_now == 0) range.begin_now = chunk.offset;
    range.bytes_now += chunk.length;
    range.place = std::min(range.place, piece.place);
    range.end_now = range.end;
  }
  std::erase_if(ranges, [](const Range& range) { return range.bytes_now == 0; });
  for (Range& range : ranges) {
    if (range.bytes_later <= range.bytes_now) continue;
    range.begin = range.begin_now;
    range.end = range.end_now;
  }
  std::ranges::sort(ranges, {}, &Range::place);
  return ranges;
}

void FetchAhead::LearnLater(const Source& source, std::vector<InnerIndex> later) {
  // At most one LearnLater() task per array runs at a time, because its requests may hang.
  if (later.empty() || !learning_.insert(source.get()).second) return;
  auto learn = [this, source, later = std::move(later)] {
    try {
      LearnIndexes(*source, later);
    } catch (const std::bad_alloc&) {
      // Indexes that are not loaded here are loaded on demand.
    }
    const MutexLock lock(mutex_);
    learning_.erase(source.get());
  };
  if (!Enqueue({std::move(learn)}, /*first=*/true)) learning_.erase(source.get());
}

void FetchAhead::Plan(const Source& source, ArrayOrder::Next next, size_t window) {
  std::vector<InnerIndex> later;
  if (HasIndexes(*source)) later = FirstOfShards(*source, next.later, kShardsAtOnce);
  std::erase_if(later, [&](InnerIndex chunk) { return IsKnown(*source, chunk); });
  next.later.resize(std::min(next.later.size(), window));
  ArrayOrder::Next known{.chunks = {}, .later = std::move(next.later)};
  ArrayOrder::Next unknown = known;
  for (const InnerIndex chunk : next.chunks) {
    (IsKnown(*source, chunk) ? known : unknown).chunks.push_back(chunk);
  }
  MutexLock lock(mutex_);
  LearnLater(source, std::move(later));
  if (!unknown.chunks.empty()) {
    (void)Enqueue({[this, source, unknown = std::move(unknown)] {
                    LearnIndexes(*source, FirstOfShards(*source, unknown.chunks, SIZE_MAX));
                    FetchKnown(source, unknown);
                  }},
                  /*first=*/true);
  }
  lock.unlock();
  if (!known.chunks.empty()) FetchKnown(source, known);
}

void FetchAhead::FetchKnown(const Source& source, const ArrayOrder::Next& next) {
  std::vector<Range> ranges;
  {
    const MutexLock planning(planning_);
    ranges = Join(*source, Locate(*source, next));
    for (const Range& range : ranges) ranges_.Plan(*source, range.chunk, range.begin, range.end);
  }
  const MutexLock lock(mutex_);
  for (const Range& range : ranges) {
    const auto fetch = [this, source, range] {
      const AcceptedAnswers accepted(kMaxAgeOfLearned, {});
      if (ranges_.Fetch(*source, range.chunk, range.begin, range.end)) return;
      ranges_.Drop(*source, range.chunk, range.begin, range.end);
    };
    if (!Enqueue({fetch, range.end - range.begin}, /*first=*/false)) {
      ranges_.Drop(*source, range.chunk, range.begin, range.end);
    }
  }
}

}  // namespace zarrfs
