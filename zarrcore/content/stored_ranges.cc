#include "zarrcore/content/stored_ranges.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "zarrcore/base/clocks.h"
#include "zarrcore/base/memory_budget.h"
#include "zarrcore/base/waiting.h"

namespace zarrfs {
namespace {

// Approximate memory overhead of a range, in bytes.
constexpr size_t kBytesOfRange = 384;
// How many of the ranges that begin before a requested range are searched for one that covers it.
constexpr int kLooks = 16;
// The tolerated share of unread bytes among the last kRemembered fetched bytes.
constexpr double kMaxWaste = 0.03;
constexpr uint64_t kRemembered = 256u << 20;
// The number of bytes to fetch concurrently, as a multiple of speed times latency; and its minimum.
constexpr uint64_t kAtOnce = 2;
constexpr uint64_t kMinAtOnce = 2u << 20;
// The number of bytes to fetch ahead, as a multiple of speed times latency; and its limits.
constexpr uint64_t kAhead = 8;
constexpr uint64_t kMinAhead = 4u << 20;
constexpr uint64_t kMaxAhead = 64u << 20;
// The speed is measured in intervals of this many nanoseconds. The estimate is the highest measured
// speed. Each interval multiplies the estimate by kForget, so it adapts if the store becomes
// slower.
constexpr int64_t kMeasureNs = 100'000'000;
constexpr double kForget = 0.98;
// The estimate of the latency is the lowest measured latency. Each request multiplies the estimate
// by this factor, so it adapts if the latency grows.
constexpr double kGrow = 1.01;

}  // namespace

struct StoredRanges::Block {
  Block(std::shared_ptr<Table> of, const Key& its_key) : table(std::move(of)), key(its_key) {}
  ~Block() {
    const uint64_t read = std::min(served.load(), size());
    if (has_come) table->unread -= static_cast<int64_t>(size() - read);
    table->Leave(key, has_come ? read : size());
  }
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

  const std::shared_ptr<Table> table;
  const Key key;
  [[nodiscard]] uint64_t size() const { return key.end - key.begin; }
  void Come() {
    has_come = true;
    table->unread += static_cast<int64_t>(size());
  }
  // Counts bytes as read, up to the size of the range.
  void Serve(uint64_t count) const {
    const uint64_t before = std::min(served.fetch_add(count), size());
    table->unread -= static_cast<int64_t>(std::min(count, size() - before));
  }

  bool has_come = false;
  mutable std::atomic<uint64_t> served = 0;  // the number of bytes that were read
  MemoryBudget::Share memory;
  Bytes bytes;
};

std::optional<StoredRanges::Key> StoredRanges::Table::Find(const ObjectKey& object, uint64_t begin,
                                                           uint64_t end) {
  const MutexLock lock(mutex_);
  const auto ranges = objects_.find(object);
  if (ranges == objects_.end()) return std::nullopt;
  auto range = ranges->second.upper_bound({begin, UINT64_MAX});
  for (int look = 0; look < kLooks && range != ranges->second.begin(); ++look) {
    if ((--range)->second >= end) return Key{object, range->first, range->second};
  }
  return std::nullopt;
}

bool StoredRanges::Table::HasAnyOf(const Key& key) {
  const MutexLock lock(mutex_);
  const auto ranges = objects_.find(key.object);
  if (ranges == objects_.end() || key.begin >= key.end) return false;
  auto range = ranges->second.lower_bound({key.end, 0});
  for (int look = 0; look < kLooks && range != ranges->second.begin(); ++look) {
    if ((--range)->second > key.begin) return true;
  }
  return false;
}

void StoredRanges::Table::Enter(const Key& key) {
  const MutexLock lock(mutex_);
  objects_[key.object].emplace(key.begin, key.end);
}

bool StoredRanges::Table::IsWasteful(uint64_t most_unread) const {
  const MutexLock lock(mutex_);
  return unread > static_cast<int64_t>(most_unread) ||
         static_cast<double>(wasted_) > kMaxWaste * static_cast<double>(fetched_);
}

void StoredRanges::Table::Leave(const Key& key, uint64_t served) noexcept {
  const MutexLock lock(mutex_);
  fetched_ += key.end - key.begin;
  wasted_ += key.end - key.begin - served;
  // Halves the counts, so older bytes have less weight.
  if (fetched_ > kRemembered) {
    fetched_ /= 2;
    wasted_ /= 2;
  }
  const auto ranges = objects_.find(key.object);
  if (ranges == objects_.end()) return;
  ranges->second.erase({key.begin, key.end});
  if (ranges->second.empty()) objects_.erase(ranges);
}

Result<std::shared_ptr<const StoredRanges::Block>> StoredRanges::Get(const ChunkLocation& chunk,
                                                                     const Key& key) {
  return cache_.GetOrLoad(key, [&]() -> Result<LruCache<Key, Block, KeyHash>::Loaded> {
    if (!MayWait()) return Fail(ErrorCode::kWouldBlock, "the store may take a while to answer");
    const size_t charge = key.end - key.begin + kBytesOfRange;
    auto memory = ProcessMemory().Take(charge);
    if (!memory) return Fail(ErrorCode::kNoMemory, "{}", memory.error().message);
    const auto block = std::make_shared<Block>(table_, key);
    table_->Enter(key);
    block->memory = std::move(*memory);
    block->bytes.resize(key.end - key.begin);
    const int64_t begun_ns = SteadyNowNs();
    if (auto read = chunk.shard->object->Read(key.begin, block->bytes); !read) return Fail(read);
    block->Come();
    meter_.End(begun_ns, key.end - key.begin);
    return LruCache<Key, Block, KeyHash>::Loaded{block, charge};
  });
}

void StoredRanges::Meter::End(int64_t begun_ns, uint64_t bytes) {
  const int64_t now_ns = SteadyNowNs();
  const double seconds = static_cast<double>(now_ns - begun_ns) * 1e-9;
  const MutexLock lock(mutex_);
  delay_s_ = delay_s_ == 0 ? seconds : std::min(seconds, delay_s_ * kGrow);
  bytes_ += bytes;
  if (now_ns - since_ns_ < kMeasureNs) return;
  const double rate =
      static_cast<double>(bytes_) / (static_cast<double>(now_ns - since_ns_) * 1e-9);
  bytes_per_s_ = std::max(rate, bytes_per_s_ * kForget);
  bytes_ = 0;
  since_ns_ = now_ns;
}

uint64_t StoredRanges::Meter::bytes_under_way() const {
  const MutexLock lock(mutex_);
  return static_cast<uint64_t>(delay_s_ * bytes_per_s_);
}

uint64_t StoredRanges::Ahead() const {
  const uint64_t most = std::min(kMaxAhead, cache_.statistics().limit / 4);
  return std::min(std::max(kAhead * meter_.bytes_under_way(), kMinAhead), most);
}

uint64_t StoredRanges::AtOnce() const {
  return std::max(kAtOnce * meter_.bytes_under_way(), kMinAtOnce);
}

Result<void> StoredRanges::Read(const ChunkSource& source, const ChunkLocation& chunk,
                                uint64_t offset, std::span<std::byte> out) {
  while (!out.empty()) {
    const uint64_t block = offset / kBlock * kBlock;
    const uint64_t at = chunk.offset + offset;
    Key key = KeyOf(source, chunk, chunk.offset + block,
                    chunk.offset + std::min(chunk.length, block + kBlock));
    const auto piece = out.first(std::min<uint64_t>(out.size(), key.end - at));
    key = table_->Find(key.object, key.begin, key.end).value_or(key);
    if (const auto got = Get(chunk, key)) {
      (*got)->Serve(piece.size());
      std::copy_n((*got)->bytes.data() + (at - key.begin), piece.size(), piece.data());
    } else if (got.error().code == ErrorCode::kNoMemory) {
      if (auto read = chunk.shard->object->Read(at, piece); !read) return read;
    } else {
      return Fail(got);
    }
    offset += piece.size();
    out = out.subspan(piece.size());
  }
  return {};
}

Result<void> StoredRanges::Fetch(const ChunkSource& source, const ChunkLocation& chunk,
                                 uint64_t begin, uint64_t end) {
  const auto got = Get(chunk, KeyOf(source, chunk, begin, end));
  if (!got) return Fail(got);
  return {};
}

void StoredRanges::Plan(const ChunkSource& source, const ChunkLocation& chunk, uint64_t begin,
                        uint64_t end) {
  table_->Enter(KeyOf(source, chunk, begin, end));
}

void StoredRanges::Drop(const ChunkSource& source, const ChunkLocation& chunk, uint64_t begin,
                        uint64_t end) {
  const Key key = KeyOf(source, chunk, begin, end);
  if (cache_.Get(key) == nullptr) table_->Leave(key, key.end - key.begin);
}

bool StoredRanges::HasAnyOf(const ChunkSource& source, const ChunkLocation& chunk, uint64_t begin,
                            uint64_t end) {
  return table_->HasAnyOf(KeyOf(source, chunk, begin, end));
}

bool StoredRanges::Has(const ChunkSource& source, const ChunkLocation& chunk) {
  const Key key = KeyOf(source, chunk, chunk.offset, chunk.offset + chunk.length);
  return table_->Find(key.object, key.begin, key.end).has_value();
}

}  // namespace zarrfs
