#include "zarrcore/content/chunk_sums.h"

#include <algorithm>
#include <iterator>

namespace zarrfs {

Sums SumsOf(std::span<const std::byte> bytes, const SumKinds& kinds) {
  Sums sums{};
  for (size_t kind = 0; kind < kinds.size(); ++kind) {
    if (kinds[kind]) sums[kind] = Checksum::SumOf(static_cast<Checksum::Kind>(kind), bytes);
  }
  return sums;
}

Sums Combine(const Sums& first, const Sums& second, uint64_t second_length, const SumKinds& kinds) {
  Sums sums{};
  for (size_t kind = 0; kind < kinds.size(); ++kind) {
    if (!kinds[kind]) continue;
    sums[kind] = Checksum::Combine(static_cast<Checksum::Kind>(kind), first[kind], second[kind],
                                   second_length);
  }
  return sums;
}

ChunkSums::Taken ChunkSums::Take(const Key& key, const ChunkLocation& location, uint64_t begin,
                                 uint64_t end) {
  Split& split = SplitOf(key);
  const MutexLock lock(split.mutex);
  const auto found = split.chunks.find(key);
  if (found == split.chunks.end()) {
    split.order.push_front({key, location.shard, location.entry, {}});
    split.chunks.emplace(key, split.order.begin());
    if (split.order.size() > kMaxChunks / kSplits) Evict(split, std::prev(split.order.end()));
  } else {
    split.order.splice(split.order.begin(), split.order, found->second);
  }
  Chunk& chunk = split.order.front();
  Taken taken{.is_alone = chunk.parts.empty()};
  auto part = chunk.parts.upper_bound(begin);
  if (part != chunk.parts.begin()) begin = std::max(begin, std::prev(part)->second.end);
  for (; begin < end; ++part) {
    const uint64_t stop = part == chunk.parts.end() ? end : std::min(end, part->first);
    if (begin < stop) {
      taken.runs.push_back({begin, stop});
      chunk.parts.emplace_hint(part, begin, Part{stop, std::nullopt});
    }
    if (part == chunk.parts.end()) break;
    begin = std::max(stop, part->second.end);
  }
  if (chunk.parts.size() > kMaxRuns) {
    Evict(split, split.order.begin());
    taken.runs.clear();
  }
  return taken;
}

void ChunkSums::Release(const Key& key, std::span<const Run> runs) {
  Split& split = SplitOf(key);
  const MutexLock lock(split.mutex);
  const auto found = split.chunks.find(key);
  if (found == split.chunks.end()) return;
  for (const Run& run : runs) {
    const auto part = found->second->parts.find(run.begin);
    const bool is_it =
        part != found->second->parts.end() && part->second.end == run.end && !part->second.sums;
    if (is_it) found->second->parts.erase(part);
  }
}

std::optional<Sums> ChunkSums::Add(const Key& key, std::span<const Run> runs,
                                   std::span<const Sums> sums, const SumKinds& kinds,
                                   uint64_t size) {
  Split& split = SplitOf(key);
  const MutexLock lock(split.mutex);
  const auto found = split.chunks.find(key);
  if (found == split.chunks.end()) return std::nullopt;
  Chunk& chunk = *found->second;
  for (size_t i = 0; i < runs.size(); ++i) {
    const auto part = chunk.parts.find(runs[i].begin);
    // If the chunk was evicted and added again, the run at this offset may come from another READ.
    const bool is_it = part != chunk.parts.end() && part->second.end == runs[i].end;
    if (is_it) part->second.sums = sums[i];
  }
  if (chunk.parts.empty()) return std::nullopt;  // the new entry belongs to a READ that failed
  MergeParts(chunk, kinds);
  const auto& [begin, part] = *chunk.parts.begin();
  if (begin != 0 || part.end != size || !part.sums) return std::nullopt;
  const std::optional<Sums> all = part.sums;
  split.order.erase(found->second);
  split.chunks.erase(found);
  return all;
}

void ChunkSums::MergeParts(Chunk& chunk, const SumKinds& kinds) {
  for (auto part = chunk.parts.begin(); part != chunk.parts.end();) {
    const auto next = std::next(part);
    const bool touch = next != chunk.parts.end() && part->second.end == next->first;
    if (!touch || !part->second.sums || !next->second.sums) {
      part = next;
      continue;
    }
    part->second.sums =
        Combine(*part->second.sums, *next->second.sums, next->second.end - next->first, kinds);
    part->second.end = next->second.end;
    chunk.parts.erase(next);
  }
}

void ChunkSums::Evict(Split& split, std::list<Chunk>::iterator chunk) {
  if (const auto shard = chunk->shard.lock()) {
    auto unknown = static_cast<uint8_t>(ChecksumNote::kUnknown);
    if (auto* const note = NoteOf(*shard, chunk->entry)) {
      note->compare_exchange_strong(unknown, static_cast<uint8_t>(ChecksumNote::kSuspect));
    }
  }
  split.chunks.erase(chunk->key);
  split.order.erase(chunk);
}

}  // namespace zarrfs
