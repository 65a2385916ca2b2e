#include "fs/tree/epoch_limit.h"

#include <map>
#include <utility>

namespace zarrfs {

void EpochLimit::CountMemory(const EpochTable::Usage& usage) {
  const uint64_t used = usage.bytes + usage.past.bytes();
  memory_.ShrinkTo(used);
  if (auto more = ProcessMemory().Take(used - memory_.bytes()); more) memory_.Add(std::move(*more));
}

Changes EpochLimit::Sweep(Nodes& nodes) {
  for (const auto& table : marked_) table->DropMarked();
  marked_.clear();
  EpochTable::Usage& usage = nodes.table().epoch_usage();
  CountMemory(usage);
  const uint32_t round = usage.round++;
  Changes forgotten;
  if (usage.bytes <= limit_) return forgotten;
  const auto tables = nodes.table().EpochTables();
  std::map<uint32_t, uint64_t> objects;
  for (const auto& [record, table] : tables) table->CountByRound(objects);
  uint32_t last = round;
  uint64_t left = kForgottenAtOnce;
  for (uint64_t sum = 0; const auto& [seen_in, count] : objects) {
    sum += count;
    last = seen_in;
    if (sum >= left) break;
  }
  for (const auto& [record, table] : tables) {
    const auto current = nodes.Refresh(record->path, kAnyAge);
    // Skips the tables of replaced layouts, which will be dropped anyway, and arrays that cannot be
    // read now.
    if (!current || current->range == nullptr || current->range->epochs != table) continue;
    const ChunkSource& chunks = *current->range->chunks;
    table->Mark(last, left, [&](uint64_t object) {
      if (object >= chunks.layout().outer_grid.size()) return;  // the array was larger before
      forgotten.keys.push_back(chunks.ObjectKey(OuterIndex{object}));
    });
    marked_.push_back(table);
    if (left == 0) break;
  }
  return forgotten;
}

}  // namespace zarrfs
