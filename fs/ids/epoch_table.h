// EpochTable: records which version of a stored object the inodes of its chunks represent.
//
// The content behind an inode never changes, so a chunk of a changed shard must get another inode.
// For each stored object that was seen, the table has a fingerprint of its latest version, the step
// in which that version was read, and its epoch, which is the number of changes seen. A step is a
// state of the whole store from which Store::ReadAsOf() can read again. Earlier versions are in
// PastVersions. The table stores nothing per inner chunk of a shard. Thread-safe.
//
// Objects are stored in pages of kPageObjects neighbours, which take less than 10 bytes per object
// if all of them are used. Pages that have not been used for a long time are dropped in two stages,
// Mark() and DropMarked(), between which the caller must invalidate the names of their inodes.
// Objects seen after that get an epoch that no inode had before.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "fs/ids/id_journal.h"
#include "fs/ids/past_versions.h"
#include "zarrcore/base/mutex.h"

namespace zarrfs {

class EpochTable {
 public:
  static constexpr uint64_t kPageObjects = 64;

  /// State shared by all epoch tables of a mount: their memory, the earlier versions of objects
  /// (`past`), and a clock for eviction (`round`). `max_past` is the maximum number of versions in
  /// `past`.
  struct Usage {
    explicit Usage(size_t max_past = PastVersions::kMaxOpen) : past(max_past) {}

    std::atomic<uint64_t> bytes = 0;  // the memory of all tables in bytes, without `past`
    // The number of calls of EpochLimit::Sweep() so far. A page records the value at its last use,
    // so the pages that have been unused for longest can be dropped first.
    std::atomic<uint32_t> round = 0;
    PastVersions past;
  };

  /// `objects` is the expected number of objects; small tables use one lock. Versions that
  /// Observe() records are also written to `journal`, if it is not null, under the table number
  /// `number`.
  explicit EpochTable(uint64_t objects = UINT64_MAX,
                      std::shared_ptr<Usage> usage = std::make_shared<Usage>(),
                      IdJournal* journal = nullptr, uint32_t number = 0);
  ~EpochTable();
  EpochTable(const EpochTable&) = delete;
  EpochTable& operator=(const EpochTable&) = delete;

  /// Restores the version of an object from a journal record of the previous process.
  void Inherit(const IdJournal::Epoch& epoch);

  /// The number that identifies this table in the id journal.
  [[nodiscard]] uint32_t number() const { return number_; }

  /// Records that `object` has the version with `fingerprint`, and returns the version's epoch.
  /// `step` is the state of the store (Store::ReadAsOf) in which the version was read. The epoch is
  /// 0 for the first version seen. It increases by one each time the version differs from the
  /// previous version, or the previous version was dropped.
  uint32_t Observe(uint64_t object, uint64_t fingerprint, uint32_t step = 0);

  /// Returns the current or an earlier version of `object` whose epoch modulo kEpochs is `epoch`;
  /// nullopt if that version is no longer known.
  [[nodiscard]] std::optional<ObjectVersion> VersionOf(uint64_t object, uint16_t epoch);

  /// Returns the epoch of the latest version of `object` that Observe() recorded. If there is none,
  /// returns the epoch that the first version will get.
  uint32_t Current(uint64_t object);

  /// Returns the epoch of the version with `fingerprint` if no later version was observed. Reads
  /// need this check, because they may still use a version after a lookup has observed a later one.
  std::optional<uint32_t> Known(uint64_t object, uint64_t fingerprint);

  /// For each value of Usage::round, adds to `objects` the number of objects in the pages last used
  /// while `round` had that value.
  void CountByRound(std::map<uint32_t, uint64_t>& objects);
  /// Marks as expired the pages last used when Usage::round was at most `round`, and calls `name`
  /// for each object on them. `name` must not use this table. Subtracts the number of objects from
  /// `left`, and stops when `left` is 0.
  void Mark(uint32_t round, uint64_t& left, const std::function<void(uint64_t object)>& name);
  /// Drops marked pages that have not been used since they were marked.
  void DropMarked();

 private:
  static constexpr uint64_t kObjectsOfOnePart = 16;
  struct Seen {
    uint64_t fingerprint;
    uint32_t epoch;
    uint32_t step;
  };
  // The epochs or the steps of a page: one number per seen object.
  struct Column {
    uint32_t first = 0;
    std::vector<uint32_t> values;  // empty until a number differs from `first`

    [[nodiscard]] uint32_t At(size_t index) const { return values.empty() ? first : values[index]; }
    [[nodiscard]] uint64_t bytes() const { return values.capacity() * sizeof(values[0]); }
    // Reserves the memory that Insert() or Set() needs to store `value` in a page of `count`
    // objects. The other members do not allocate memory.
    void Prepare(size_t count, uint32_t value);
    void Insert(size_t index, uint32_t value);
    void Set(size_t index, uint32_t value);
  };
  struct Page {
    uint64_t seen = 0;                   // bit i is set if object i of the page was seen
    std::vector<uint64_t> fingerprints;  // one per seen object, in ascending order of object number
    Column epochs;
    Column steps;
    uint32_t round = 0;
    bool is_marked = false;

    [[nodiscard]] uint64_t bytes() const;
    [[nodiscard]] size_t IndexOf(uint64_t object) const;
    [[nodiscard]] Seen At(size_t index) const {
      return {fingerprints[index], epochs.At(index), steps.At(index)};
    }
    // Insert() adds an object, and Set() changes one. If memory runs out, both change nothing.
    void Insert(uint64_t object, const Seen& seen_now);
    void Set(size_t index, const Seen& seen_now);
  };
  // When destroyed, adds the growth of a page's memory to Usage::bytes.
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
    Mutex mutex;
    std::unordered_map<uint64_t, Page> pages GUARDED_BY(mutex);
    // The epoch of the first version in a new page. Greater than every epoch of a dropped page.
    uint32_t first_epoch GUARDED_BY(mutex) = 0;
  };
  Part& PartOf(uint64_t object) { return parts_[object / kPageObjects % part_count_]; }
  static std::optional<Seen> Find(const Part& part, uint64_t object) REQUIRES(part.mutex);
  static uint64_t BitOf(uint64_t object) { return uint64_t{1} << object % kPageObjects; }

  const size_t part_count_;
  const std::unique_ptr<Part[]> parts_;
  const std::shared_ptr<Usage> usage_;
  IdJournal* const journal_;
  const uint32_t number_;
};

}  // namespace zarrfs
