// RecentRecords<Record>: the last N records of an endless sequence, found by number or by content.
//
//   blocks_   a ring of records, in blocks that are allocated on demand and never move
//   newest_   a hash table with the number of the newest record in each bucket. Record::previous
//             is the number of the next older record in the same bucket. A chain ends at the first
//             number that is no longer in the ring, so dropping the oldest record only changes a
//             count.
//
// `Record` must have the members `size_t Hash() const` and `uint32_t previous`, which only this
// class sets. Record numbers wrap around at 2^32. If memory runs out, Add() throws and changes
// nothing. Not thread-safe.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace zarrfs {

template <typename Record>
class RecentRecords {
 public:
  /// `limit`: the maximum number of records, between 1 and 2^31.
  explicit RecentRecords(size_t limit) : limit_(std::max<size_t>(limit, 1)) {}

  /// Adds a record and returns its number, which is at least 1. If the ring is full, drops the
  /// oldest record.
  uint32_t Add(Record record) {
    Grow();
    const size_t slot = next_ % limit_;
    if (blocks_.size() <= slot / kBlock) blocks_.resize(slot / kBlock + 1);
    auto& block = blocks_[slot / kBlock];
    if (block == nullptr) block = std::make_unique<Record[]>(std::min(kBlock, limit_));
    uint32_t& newest = newest_[record.Hash() % newest_.size()];
    record.previous = newest;
    newest = static_cast<uint32_t>(next_);
    block[slot % kBlock] = record;
    size_ = std::min(size_ + 1, limit_);
    return static_cast<uint32_t>(next_++);
  }

  /// The result of FindNewest(): the newest record with the given hash for which `is_it` returns
  /// true, or null if no record matches. FindNewest() may also call `is_it` with records of other
  /// hashes.
  struct Found {
    const Record* record = nullptr;
    uint32_t number = 0;
  };
  template <typename IsIt>
  [[nodiscard]] Found FindNewest(size_t hash, const IsIt& is_it) const {
    if (newest_.empty()) return {};
    uint32_t number = newest_[hash % newest_.size()];
    // Record numbers are reused after 2^32 records, so an outdated `previous` may seem to be the
    // number of a record in the ring. Each record of a valid chain is older than the one before, so
    // its distance from next_ is greater.
    for (uint32_t before = 0; DistanceOf(number) > before && IsKept(number);) {
      const Record& record = *At(number);
      if (is_it(record)) return {&record, number};
      before = DistanceOf(number);
      number = record.previous;
    }
    return {};
  }

  /// Returns the record with this number, or null if the record was dropped.
  [[nodiscard]] const Record* At(uint32_t number) const {
    if (!IsKept(number)) return nullptr;
    const size_t slot = (next_ - DistanceOf(number)) % limit_;
    return &blocks_[slot / kBlock][slot % kBlock];
  }

  [[nodiscard]] size_t size() const { return size_; }
  [[nodiscard]] size_t limit() const { return limit_; }
  /// Returns the memory used, in bytes.
  [[nodiscard]] size_t bytes() const {
    const size_t slots = std::min((size_ + kBlock) / kBlock * kBlock, limit_);
    return (size_ == 0 ? 0 : slots * sizeof(Record)) + newest_.size() * sizeof(uint32_t);
  }

 private:
  static constexpr size_t kBlock = 4096;
  static constexpr size_t kFirstBuckets = 64;

  [[nodiscard]] uint32_t DistanceOf(uint32_t number) const {
    return static_cast<uint32_t>(next_) - number;
  }
  [[nodiscard]] bool IsKept(uint32_t number) const {
    const uint32_t distance = DistanceOf(number);
    return distance >= 1 && distance <= size_;
  }

  // Enlarges the hash table to at least one bucket per record.
  void Grow() {
    if (size_ < newest_.size() || newest_.size() >= limit_) return;
    std::vector<uint32_t> newest(std::max(kFirstBuckets, std::bit_ceil(size_ + 1)));
    for (uint64_t number = next_ - size_; number < next_; ++number) {
      const size_t slot = number % limit_;
      Record& record = blocks_[slot / kBlock][slot % kBlock];
      uint32_t& bucket = newest[record.Hash() % newest.size()];
      record.previous = bucket;
      bucket = static_cast<uint32_t>(number);
    }
    newest_ = std::move(newest);
  }

  const size_t limit_;
  uint64_t next_ = 1;  // the number of the next record to be added
  size_t size_ = 0;
  std::vector<std::unique_ptr<Record[]>> blocks_;
  // For each bucket of the hash table, the number of its newest record; 0 if it has none.
  std::vector<uint32_t> newest_;
};

}  // namespace zarrfs
