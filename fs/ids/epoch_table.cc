#include "fs/ids/epoch_table.h"

#include <algorithm>
#include <bit>
#include <new>

namespace zarrfs {
namespace {

// Overhead of a page: a node of the hash table, its bucket, and three allocations.
constexpr uint64_t kPageOverhead = 64;

}  // namespace

uint64_t EpochTable::Page::bytes() const {
  return sizeof(Page) + kPageOverhead + fingerprints.capacity() * sizeof(fingerprints[0]) +
         epochs.capacity() * sizeof(epochs[0]);
}

size_t EpochTable::Page::IndexOf(uint64_t object) const {
  return static_cast<size_t>(std::popcount(seen & (BitOf(object) - 1)));
}

void EpochTable::Page::Insert(uint64_t object, uint64_t fingerprint, uint32_t epoch) {
  const auto at = static_cast<std::ptrdiff_t>(IndexOf(object));
  if (epochs.empty() && epoch != first_epoch) epochs.resize(fingerprints.size(), first_epoch);
  const bool has_epochs = !epochs.empty() || epoch != first_epoch;
  if (has_epochs) epochs.insert(epochs.begin() + at, epoch);
  try {
    fingerprints.insert(fingerprints.begin() + at, fingerprint);
  } catch (const std::bad_alloc&) {
    if (has_epochs) epochs.erase(epochs.begin() + at);
    throw;
  }
  seen |= BitOf(object);
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

uint32_t EpochTable::Observe(uint64_t object, uint64_t fingerprint) {
  Part& part = PartOf(object);
  const std::lock_guard lock(part.mutex);
  const auto [entry, added] = part.pages.try_emplace(object / kPageObjects);
  Page& page = entry->second;
  const CountedPage counted(*usage_, page, added);
  if (added) page.first_epoch = part.first_epoch;
  page.round = usage_->round.load(std::memory_order_relaxed);
  page.is_marked = false;
  const size_t index = page.IndexOf(object);
  bool is_new = true;
  if ((page.seen & BitOf(object)) == 0) {
    page.Insert(object, fingerprint, page.first_epoch);
  } else if (page.fingerprints[index] != fingerprint) {
    if (page.epochs.empty()) page.epochs.resize(page.fingerprints.size(), page.first_epoch);
    if (part.past.size() >= kMaxPast) {
      part.past.erase(part.past.begin(), part.past.begin() + kMaxPast / 2);
    }
    part.past.push_back({object, {page.fingerprints[index], page.epochs[index]}});
    page.fingerprints[index] = fingerprint;
    ++page.epochs[index];
  } else {
    is_new = false;
  }
  const uint32_t epoch = page.epochs.empty() ? page.first_epoch : page.epochs[index];
  if (is_new && journal_ != nullptr) journal_->AddEpoch({number_, epoch, object, fingerprint});
  return epoch;
}

void EpochTable::Inherit(const IdJournal::Epoch& epoch) {
  Part& part = PartOf(epoch.object);
  const std::lock_guard lock(part.mutex);
  const auto [entry, added] = part.pages.try_emplace(epoch.object / kPageObjects);
  Page& page = entry->second;
  const CountedPage counted(*usage_, page, added);
  if ((page.seen & BitOf(epoch.object)) == 0) {
    page.Insert(epoch.object, epoch.fingerprint, epoch.epoch);
    return;
  }
  if (page.epochs.empty() && epoch.epoch != page.first_epoch) {
    page.epochs.resize(page.fingerprints.size(), page.first_epoch);
  }
  const size_t index = page.IndexOf(epoch.object);
  page.fingerprints[index] = epoch.fingerprint;
  if (!page.epochs.empty()) page.epochs[index] = epoch.epoch;
}

std::optional<EpochTable::Seen> EpochTable::Find(const Part& part, uint64_t object) {
  const auto entry = part.pages.find(object / kPageObjects);
  if (entry == part.pages.end() || (entry->second.seen & BitOf(object)) == 0) return std::nullopt;
  const Page& page = entry->second;
  const size_t index = page.IndexOf(object);
  return Seen{page.fingerprints[index],
              page.epochs.empty() ? page.first_epoch : page.epochs[index]};
}

uint32_t EpochTable::Current(uint64_t object) {
  Part& part = PartOf(object);
  const std::lock_guard lock(part.mutex);
  if (const auto seen = Find(part, object)) return seen->epoch;
  const auto entry = part.pages.find(object / kPageObjects);
  return entry == part.pages.end() ? part.first_epoch : entry->second.first_epoch;
}

std::optional<uint32_t> EpochTable::Known(uint64_t object, uint64_t fingerprint) {
  Part& part = PartOf(object);
  const std::lock_guard lock(part.mutex);
  const auto seen = Find(part, object);
  if (!seen || seen->fingerprint != fingerprint) return std::nullopt;
  return seen->epoch;
}

void EpochTable::CountByRound(std::map<uint32_t, uint64_t>& objects) {
  for (size_t p = 0; p < part_count_; ++p) {
    const std::lock_guard lock(parts_[p].mutex);
    for (const auto& [number, page] : parts_[p].pages) {
      objects[page.round] += page.fingerprints.size();
    }
  }
}

void EpochTable::Mark(uint32_t round, uint64_t& left,
                      const std::function<void(uint64_t object)>& name) {
  for (size_t p = 0; p < part_count_; ++p) {
    const std::lock_guard lock(parts_[p].mutex);
    for (auto& [number, page] : parts_[p].pages) {
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
    const std::lock_guard lock(part.mutex);
    std::erase_if(part.pages, [&](const auto& entry) {
      const Page& page = entry.second;
      if (!page.is_marked) return false;
      const uint32_t last = page.epochs.empty() ? page.first_epoch : std::ranges::max(page.epochs);
      part.first_epoch = std::max(part.first_epoch, last + 1);
      usage_->bytes -= page.bytes();
      return true;
    });
  }
}

}  // namespace zarrfs
