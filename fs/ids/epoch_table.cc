#include "fs/ids/epoch_table.h"

#include <algorithm>
#include <bit>

namespace zarrfs {
namespace {

// The memory overhead of a page: a node of the hash table, its bucket, and three allocations.
constexpr uint64_t kPageOverhead = 64;

}  // namespace

void EpochTable::Column::Prepare(size_t count, uint32_t value) {
  if (values.empty() && value == first) return;
  constexpr size_t kMin = 4;
  if (values.capacity() <= count) values.reserve(std::max(kMin, 2 * count));
  if (values.empty()) values.resize(count, first);
}

void EpochTable::Column::Insert(size_t index, uint32_t value) {
  if (values.capacity() == 0) return;  // all numbers are `first`
  values.insert(values.begin() + static_cast<std::ptrdiff_t>(index), value);
}

void EpochTable::Column::Set(size_t index, uint32_t value) {
  if (!values.empty()) values[index] = value;
}

uint64_t EpochTable::Page::bytes() const {
  return sizeof(Page) + kPageOverhead + fingerprints.capacity() * sizeof(fingerprints[0]) +
         epochs.bytes() + steps.bytes();
}

size_t EpochTable::Page::IndexOf(uint64_t object) const {
  return static_cast<size_t>(std::popcount(seen & (BitOf(object) - 1)));
}

void EpochTable::Page::Insert(uint64_t object, const Seen& seen_now) {
  const size_t index = IndexOf(object);
  const size_t count = fingerprints.size();
  epochs.Prepare(count, seen_now.epoch);
  steps.Prepare(count, seen_now.step);
  fingerprints.insert(fingerprints.begin() + static_cast<std::ptrdiff_t>(index),
                      seen_now.fingerprint);
  epochs.Insert(index, seen_now.epoch);
  steps.Insert(index, seen_now.step);
  seen |= BitOf(object);
}

void EpochTable::Page::Set(size_t index, const Seen& seen_now) {
  epochs.Prepare(fingerprints.size(), seen_now.epoch);
  steps.Prepare(fingerprints.size(), seen_now.step);
  fingerprints[index] = seen_now.fingerprint;
  epochs.Set(index, seen_now.epoch);
  steps.Set(index, seen_now.step);
}

EpochTable::EpochTable(uint64_t objects, std::shared_ptr<Usage> usage, IdJournal* journal,
                       uint32_t number)
    : part_count_(objects <= kObjectsOfOnePart ? 1 : 8),
      parts_(std::make_unique<Part[]>(part_count_)),
      usage_(std::move(usage)),
      journal_(journal),
      number_(number) {}

EpochTable::~EpochTable() {
  for (size_t p = 0; p < part_count_; ++p) {
    for (const auto& [number, page] : parts_[p].pages) usage_->bytes -= page.bytes();
  }
}

uint32_t EpochTable::Observe(uint64_t object, uint64_t fingerprint, uint32_t step) {
  Part& part = PartOf(object);
  const MutexLock lock(part.mutex);
  const auto [entry, added] = part.pages.try_emplace(object / kPageObjects);
  Page& page = entry->second;
  const CountedPage counted(*usage_, page, added);
  if (added) page.epochs.first = part.first_epoch;
  if (added) page.steps.first = step;
  page.round = usage_->round.load(std::memory_order_relaxed);
  page.is_marked = false;
  const size_t index = page.IndexOf(object);
  if ((page.seen & BitOf(object)) == 0) {
    page.Insert(object, {fingerprint, page.epochs.first, step});
  } else if (const Seen before = page.At(index); before.fingerprint != fingerprint) {
    usage_->past.Add({number_, object}, before.epoch, {before.fingerprint, before.step});
    page.Set(index, {fingerprint, before.epoch + 1, step});
  } else {
    // A version inherited from the journal has no step, so this adds the step.
    if (before.step == 0 && step != 0) page.Set(index, {fingerprint, before.epoch, step});
    return before.epoch;
  }
  const uint32_t epoch = page.epochs.At(index);
  if (journal_ != nullptr) journal_->AddEpoch({number_, epoch, object, fingerprint});
  return epoch;
}

void EpochTable::Inherit(const IdJournal::Epoch& epoch) {
  Part& part = PartOf(epoch.object);
  const MutexLock lock(part.mutex);
  const auto [entry, added] = part.pages.try_emplace(epoch.object / kPageObjects);
  Page& page = entry->second;
  const CountedPage counted(*usage_, page, added);
  const Seen seen{epoch.fingerprint, epoch.epoch, 0};
  if ((page.seen & BitOf(epoch.object)) == 0) {
    page.Insert(epoch.object, seen);
  } else {
    page.Set(page.IndexOf(epoch.object), seen);
  }
}

std::optional<EpochTable::Seen> EpochTable::Find(const Part& part, uint64_t object) {
  const auto entry = part.pages.find(object / kPageObjects);
  if (entry == part.pages.end() || (entry->second.seen & BitOf(object)) == 0) return std::nullopt;
  return entry->second.At(entry->second.IndexOf(object));
}

std::optional<ObjectVersion> EpochTable::VersionOf(uint64_t object, uint16_t epoch) {
  Part& part = PartOf(object);
  const MutexLock lock(part.mutex);
  const auto current = Find(part, object);
  if (current && current->epoch % kEpochs == epoch) {
    return ObjectVersion{current->fingerprint, current->step};
  }
  return usage_->past.Find({number_, object}, epoch);
}

uint32_t EpochTable::Current(uint64_t object) {
  Part& part = PartOf(object);
  const MutexLock lock(part.mutex);
  if (const auto seen = Find(part, object)) return seen->epoch;
  const auto entry = part.pages.find(object / kPageObjects);
  return entry == part.pages.end() ? part.first_epoch : entry->second.epochs.first;
}

std::optional<uint32_t> EpochTable::Known(uint64_t object, uint64_t fingerprint) {
  Part& part = PartOf(object);
  const MutexLock lock(part.mutex);
  const auto seen = Find(part, object);
  if (!seen || seen->fingerprint != fingerprint) return std::nullopt;
  return seen->epoch;
}

void EpochTable::CountByRound(std::map<uint32_t, uint64_t>& objects) {
  for (size_t p = 0; p < part_count_; ++p) {
    Part& part = parts_[p];
    const MutexLock lock(part.mutex);
    for (const auto& [number, page] : part.pages) {
      objects[page.round] += page.fingerprints.size();
    }
  }
}

void EpochTable::Mark(uint32_t round, uint64_t& left,
                      const std::function<void(uint64_t object)>& name) {
  for (size_t p = 0; p < part_count_; ++p) {
    Part& part = parts_[p];
    const MutexLock lock(part.mutex);
    for (auto& [number, page] : part.pages) {
      if (left == 0) return;
      if (page.round > round) continue;
      page.is_marked = true;
      left -= std::min<uint64_t>(left, page.fingerprints.size());
      for (uint64_t rest = page.seen; rest != 0; rest &= rest - 1) {
        name(number * kPageObjects + static_cast<uint64_t>(std::countr_zero(rest)));
      }
    }
  }
}

void EpochTable::DropMarked() {
  for (size_t p = 0; p < part_count_; ++p) {
    Part& part = parts_[p];
    const MutexLock lock(part.mutex);
    std::erase_if(part.pages, [&](const auto& entry) REQUIRES(part.mutex) {
      const Page& page = entry.second;
      if (!page.is_marked) return false;
      const auto& epochs = page.epochs.values;
      const uint32_t last = epochs.empty() ? page.epochs.first : std::ranges::max(epochs);
      part.first_epoch = std::max(part.first_epoch, last + 1);
      usage_->bytes -= page.bytes();
      return true;
    });
  }
}

}  // namespace zarrfs
