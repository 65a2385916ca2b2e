#include "fs/tree/fetch_ahead.h"

#include <algorithm>
#include <map>
#include <new>
#include <system_error>
#include <tuple>
#include <utility>

#include "zarrcore/base/at_once.h"
#include "zarrcore/base/waiting.h"

namespace zarrfs {

void FetchAhead::Stop() {
  std::vector<std::thread> threads;
  {
    const std::lock_guard lock(mutex_);
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
  const std::lock_guard lock(mutex_);
  if (is_over_) return;
  const uint64_t window = ranges_.Ahead();
  const uint64_t bytes = std::max<uint64_t>(file.location.length, 1);
  auto chunks = ArrayOf(source).order.OnWanted(
      file.chunk, window / bytes, [&](InnerIndex next) { return IsHere(*source, next); });
  if (chunks.empty()) return;
  (void)Do([this, source, chunks = std::move(chunks)] { Plan(source, chunks); }, /*first=*/true);
}

bool FetchAhead::IsHere(const ChunkSource& source, InnerIndex chunk) const {
  const NoWaiting scope;
  const auto found = source.Locate(chunk, kAnyAge);
  // (What the index says is not there is not worth fetching either.)
  return found && (!found->location || ranges_.Has(source, *found->location));
}

bool FetchAhead::Do(std::function<void()> task, bool first) {
  if (is_over_ || tasks_.size() >= kMaxTasks) return false;
  first ? tasks_.push_front(std::move(task)) : tasks_.push_back(std::move(task));
  if (idle_ < tasks_.size() && threads_.size() < kThreads) {
    try {
      threads_.emplace_back([this] { Work(); });
    } catch (const std::system_error&) {
      // No more threads are to be had: those there are take it.
    }
  }
  arrived_.notify_one();
  return true;
}

void FetchAhead::Work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    ++idle_;
    arrived_.wait(lock, [&] { return is_over_ || !tasks_.empty(); });
    --idle_;
    if (is_over_) return;
    const auto task = std::move(tasks_.front());
    tasks_.pop_front();
    lock.unlock();
    try {
      task();
    } catch (const std::bad_alloc&) {
      // Whoever wants it reads it.
    }
    lock.lock();
  }
}

std::vector<ChunkLocation> FetchAhead::Locate(const ChunkSource& source,
                                              const std::vector<InnerIndex>& chunks) const {
  // The indexes of all shards at once; then they are known.
  std::map<OuterIndex, InnerIndex> shards;
  for (const InnerIndex chunk : chunks) shards.emplace(source.OuterOf(chunk), chunk);
  std::vector<InnerIndex> firsts;
  firsts.reserve(shards.size());
  for (const auto& [outer, chunk] : shards) firsts.push_back(chunk);
  AtOnce(firsts.size(), kShardsAtOnce, [&](size_t i) { (void)source.Locate(firsts[i], kAnyAge); });
  std::vector<ChunkLocation> found;
  for (const InnerIndex chunk : chunks) {
    auto located = source.Locate(chunk, kAnyAge);
    if (!located || !located->location) continue;
    ChunkLocation& at = *located->location;
    const bool is_kept = !at.shard->is_in_memory && !source.IsRacy(*at.shard);
    if (is_kept && at.length <= StoredRanges::kBlock && !ranges_.Has(source, at)) {
      found.push_back(std::move(at));
    }
  }
  return found;
}

std::vector<FetchAhead::Range> FetchAhead::Join(const ChunkSource& source,
                                                std::vector<ChunkLocation> chunks) const {
  const auto place = [](const ChunkLocation& chunk) {
    return std::tuple(chunk.outer, chunk.shard->fingerprint, chunk.offset);
  };
  std::ranges::sort(chunks, {}, place);
  const uint64_t gap = ranges_.IsWasteful() ? 0 : kGap;
  std::vector<Range> ranges;
  for (ChunkLocation& chunk : chunks) {
    const uint64_t end = chunk.offset + chunk.length;
    if (!ranges.empty()) {
      Range& last = ranges.back();
      const bool is_near = last.chunk.outer == chunk.outer &&
                           last.chunk.shard->fingerprint == chunk.shard->fingerprint &&
                           chunk.offset <= last.end + gap &&
                           end - last.begin <= StoredRanges::kBlock &&
                           !ranges_.HasAnyOf(source, chunk, last.end, chunk.offset);
      if (is_near) {
        last.end = std::max(last.end, end);
        continue;
      }
    }
    const uint64_t begin = chunk.offset;
    ranges.push_back({std::move(chunk), begin, end});
  }
  return ranges;
}

void FetchAhead::Plan(const Source& source, const std::vector<InnerIndex>& chunks) {
  const auto ranges = Join(*source, Locate(*source, chunks));
  for (const Range& range : ranges) ranges_.Plan(*source, range.chunk, range.begin, range.end);
  const std::lock_guard lock(mutex_);
  for (const Range& range : ranges) {
    const auto fetch = [this, source, range] {
      (void)ranges_.Fetch(*source, range.chunk, range.begin, range.end);
    };
    if (!Do(fetch, /*first=*/false)) {
      ranges_.Drop(*source, range.chunk, range.begin, range.end);
    }
  }
}

}  // namespace zarrfs
