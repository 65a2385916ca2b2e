// EpochTable: which version of a stored object the inodes of its chunks stand for.
//
// A file's inode never changes its content, so a chunk of a changed shard must be another inode.
// The table holds, for each stored object that was seen, a fingerprint of the version seen last and
// how often it was another one before: its epoch; and the fingerprints of the last kMaxPast
// versions before that. Nothing is held for a chunk inside a shard. Thread-safe.
//
// Objects lie in pages of kPageObjects neighbours: of objects that are all looked at, each takes
// less than 10 bytes. Pages that were not looked at for long can be forgotten, in two steps,
// between which the names of their inodes are to be invalidated: Mark() and DropMarked(). What is
// seen again after that has an epoch that no inode had before.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

#include "fs/ids/id_journal.h"

namespace zarrfs {

class EpochTable {
 public:
  static constexpr uint64_t kPageObjects = 64;

  /// Of all tables of a mount together.
  struct Usage {
    std::atomic<uint64_t> bytes = 0;
    std::atomic<uint32_t> round = 0;  // what is seen now is seen in this round
  };

  /// For so many objects, about: of a few, all are looked up under one lock.
  /// What is observed goes to the journal, if there is one, as that of table `number`.
  explicit EpochTable(uint64_t objects = UINT64_MAX,
                      std::shared_ptr<Usage> usage = std::make_shared<Usage>(),
                      IdJournal* journal = nullptr, uint32_t number = 0);
  ~EpochTable();
  EpochTable(const EpochTable&) = delete;
  EpochTable& operator=(const EpochTable&) = delete;

  /// What the process before has observed last.
  void Inherit(const IdJournal::Epoch& epoch);

  /// In the journal.
  [[nodiscard]] uint32_t number() const { return number_; }

  /// The epoch of `object` in the version with `fingerprint`: 0 for the first version ever seen,
  /// one more each time the version differs from the one before, or the one before was forgotten.
  uint32_t Observe(uint64_t object, uint64_t fingerprint);

  /// The fingerprint of the version that had this epoch (by `same`, a bool(uint32_t epoch)), the
  /// current one included; nullopt if that is too long ago.
  template <typename Same>
  std::optional<uint64_t> FingerprintOf(uint64_t object, Same same) {
    Part& part = PartOf(object);
    const std::lock_guard lock(part.mutex);
    const auto current = Find(part, object);
    if (current && same(current->epoch)) return current->fingerprint;
    // NOLINTNEXTLINE(modernize-loop-convert): clang 14 cannot compile std::views::reverse
    for (auto past = part.past.rbegin(); past != part.past.rend(); ++past) {
      if (past->object == object && same(past->seen.epoch)) return past->seen.fingerprint;
    }
    return std::nullopt;
  }

  /// The epoch that was observed last; if none was, the one that will be.
  uint32_t Current(uint64_t object);

  /// For reads, which may still hold a version that a look-up has found superseded. The epoch of
  /// the version, if it is the one that was observed last.
  std::optional<uint32_t> Known(uint64_t object, uint64_t fingerprint);

  /// Adds how many objects of its pages were seen last in each round.
  void CountByRound(std::map<uint32_t, uint64_t>& objects);
  /// Marks pages seen last in `round` or before that, until `left` (reduced by theirs) is used up,
  /// and gives their objects to `name`, which must not use this table.
  void Mark(uint32_t round, uint64_t& left, const std::function<void(uint64_t object)>& name);
  /// Forgets pages that are marked, but for those of which something was seen since.
  void DropMarked();

 private:
  static constexpr uint64_t kObjectsOfOnePart = 16;
  static constexpr size_t kMaxPast = 1024;  // of each part
  struct Seen {
    uint64_t fingerprint;
    uint32_t epoch;
  };
  struct Past {
    uint64_t object;
    Seen seen;
  };
  struct Page {
    uint64_t seen = 0;                   // bit i: its object number i was
    std::vector<uint64_t> fingerprints;  // of these, in their order
    std::vector<uint32_t> epochs;        // likewise; empty: each is first_epoch
    uint32_t first_epoch = 0;
    uint32_t round = 0;
    bool is_marked = false;

    [[nodiscard]] uint64_t bytes() const;
    [[nodiscard]] size_t IndexOf(uint64_t object) const;
    // Adds an object that was not seen. Without memory for it, changes nothing.
    void Insert(uint64_t object, uint64_t fingerprint, uint32_t epoch);
  };
  // Counts what a page takes more in the end than it did.
  class CountedPage {
   public:
    CountedPage(Usage& usage, Page& page, bool is_new)
        : usage_(usage), page_(page), before_(is_new ? 0 : page.bytes()) {}
    ~CountedPage() { usage_.bytes += page_.bytes() - before_; }
    CountedPage(const CountedPage&) = delete;
    CountedPage& operator=(const CountedPage&) = delete;

   private:
    Usage& usage_;
    const Page& page_;
    const uint64_t before_;
  };
  struct Part {
    std::mutex mutex;
    std::unordered_map<uint64_t, Page> pages;
    std::vector<Past> past;    // oldest first
    uint32_t first_epoch = 0;  // no page that was forgotten had it, nor a later one
  };
  Part& PartOf(uint64_t object) { return parts_[object / kPageObjects % part_count_]; }
  static std::optional<Seen> Find(const Part& part, uint64_t object);
  static uint64_t BitOf(uint64_t object) { return uint64_t{1} << object % kPageObjects; }

  const size_t part_count_;
  const std::unique_ptr<Part[]> parts_;
  const std::shared_ptr<Usage> usage_;
  IdJournal* const journal_;
  const uint32_t number_;
};

}  // namespace zarrfs
