#include "zarrcore/array/stored_ranges.h"

#include <algorithm>
#include <utility>

#include "zarrcore/base/memory_budget.h"
#include "zarrcore/base/waiting.h"

namespace zarrfs {
namespace {

// What the cache and the table take for a range beside its bytes, roughly.
constexpr size_t kBytesOfRange = 384;
// So many ranges that begin before a chunk are looked at for one that has it.
constexpr int kLooks = 16;

}  // namespace

struct StoredRanges::Block {
  Block(std::shared_ptr<Table> of, const Key& its_key) : table(std::move(of)), key(its_key) {}
  ~Block() { table->Leave(key); }
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

  const std::shared_ptr<Table> table;
  const Key key;
  MemoryBudget::Share memory;
  Bytes bytes;
};

std::optional<StoredRanges::Key> StoredRanges::Table::Find(const ObjectKey& object, uint64_t begin,
                                                           uint64_t end) {
  const std::lock_guard lock(mutex_);
  const auto ranges = objects_.find(object);
  if (ranges == objects_.end()) return std::nullopt;
  auto range = ranges->second.upper_bound({begin, UINT64_MAX});
  for (int look = 0; look < kLooks && range != ranges->second.begin(); ++look) {
    if ((--range)->second >= end) return Key{object, range->first, range->second};
  }
  return std::nullopt;
}

void StoredRanges::Table::Enter(const Key& key) {
  const std::lock_guard lock(mutex_);
  objects_[key.object].emplace(key.begin, key.end);
}

void StoredRanges::Table::Leave(const Key& key) noexcept {
  const std::lock_guard lock(mutex_);
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
    if (auto read = chunk.shard->object->Read(key.begin, block->bytes); !read) return Fail(read);
    return LruCache<Key, Block, KeyHash>::Loaded{block, charge};
  });
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
  if (cache_.Get(key) == nullptr) table_->Leave(key);
}

bool StoredRanges::Has(const ChunkSource& source, const ChunkLocation& chunk) {
  const Key key = KeyOf(source, chunk, chunk.offset, chunk.offset + chunk.length);
  return table_->Find(key.object, key.begin, key.end).has_value();
}

}  // namespace zarrfs
