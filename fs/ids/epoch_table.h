// EpochTable: which version of a stored object the inodes of its chunks represent.
//
// A file's inode never changes its content, so a chunk of a changed shard must be another inode.
// The table holds, for each stored object that was seen, a fingerprint of its latest version and
// the number of changes seen: its epoch; and the fingerprints of the kMaxPast versions before that.
// It holds nothing per chunk inside a shard. Thread-safe.
//
// Objects lie in pages of kPageObjects neighbours: if all of them are used, each takes less than 10
// bytes. Pages that were not used for long can be dropped in two steps, Mark() and DropMarked(),
// between which the names of their inodes must be invalidated. Objects seen after that get an epoch
// that no inode had before.
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

  /// Usage of all tables of a mount.
  struct Usage {
    std::atomic<uint64_t> bytes = 0;
    std::atomic<uint32_t> round = 0;  // the current round, recorded with each use
  };

  /// `objects`: expected number of objects; small tables use one lock. Observations go to the
  /// journal, if there is one, as those of table `number`.
  explicit EpochTable(uint64_t objects = UINT64_MAX,
                      std::shared_ptr<Usage> usage = std::make_shared<Usage>(),
                      IdJournal* journal = nullptr, uint32_t number = 0);
  ~EpochTable();
  EpochTable(const EpochTable&) = delete;
  EpochTable& operator=(const EpochTable&) = delete;

  /// Restores the latest observation of the previous process.
  void Inherit(const IdJournal::Epoch& epoch);

  /// Number in the journal.
  [[nodiscard]] uint32_t number() const { return number_; }

  /// The epoch of `object` in the version with `fingerprint`: 0 for the first version seen, plus
  /// one each time the version differs from the previous one, or the previous one was dropped.
  uint32_t Observe(uint64_t object, uint64_t fingerprint);

  /// The fingerprint of the version with this epoch (by `same`, a bool(uint32_t epoch)), including
  /// the current one; nullopt if that is too long ago.
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

  /// The latest observed epoch; if there is none, the epoch that the first will get.
  uint32_t Current(uint64_t object);

  /// For reads, which may still hold a version that a lookup has found superseded. The epoch of the
  /// version, if it is the latest observed.
  std::optional<uint32_t> Known(uint64_t object, uint64_t fingerprint);

  /// Adds, for each round, the number of objects of pages last used in it.
  void CountByRound(std::map<uint32_t, uint64_t>& objects);
  /// Marks pages last used in `round` or before, until `left` (reduced by their objects) is used
  /// up, and passes their objects to `name`, which must not use this table.
  void Mark(uint32_t round, uint64_t& left, const std::function<void(uint64_t object)>& name);
  /// Drops marked pages not used since they were marked.
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
    uint64_t seen = 0;                   // bit i: object i of the page was seen
    std::vector<uint64_t> fingerprints;  // of the seen objects, in their order
    std::vector<uint32_t> epochs;        // likewise; empty: all are first_epoch
    uint32_t first_epoch = 0;
    uint32_t round = 0;
    bool is_marked = false;

    [[nodiscard]] uint64_t bytes() const;
    [[nodiscard]] size_t IndexOf(uint64_t object) const;
    // Adds a new object. If memory has run out, changes nothing.
    void Insert(uint64_t object, uint64_t fingerprint, uint32_t epoch);
  };
  // Counts the growth of a page's memory.
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
    uint32_t first_epoch = 0;  // later than every epoch of a dropped page
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
