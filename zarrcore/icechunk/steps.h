// IcechunkSteps: numbers the commits that a mount has served (ReadAnswer::step). Keeps the last
// kMaxSteps commits.
#pragma once

#include <cstdint>
#include <optional>

#include "zarrcore/base/mutex.h"
#include "zarrcore/base/recent_records.h"
#include "zarrcore/icechunk/object_id.h"

namespace zarrfs {

/// Numbers commits. Thread-safe.
class IcechunkSteps {
 public:
  static constexpr size_t kMaxSteps = 1'000'000;  // about 20 MB

  /// The number of a commit, at least 1. A commit that has no number, or whose number was dropped,
  /// gets a new one.
  [[nodiscard]] uint32_t StepOf(const IcechunkId& commit) {
    const MutexLock lock(mutex_);
    const Record wanted{commit, 0};
    const auto found = records_.FindNewest(
        wanted.Hash(), [&](const Record& record) { return record.commit == commit; });
    return found.record != nullptr ? found.number : records_.Add(wanted);
  }

  [[nodiscard]] std::optional<IcechunkId> CommitOf(uint32_t step) const {
    const MutexLock lock(mutex_);
    const Record* const record = records_.At(step);
    return record == nullptr ? std::nullopt : std::optional(record->commit);
  }

 private:
  struct Record {
    IcechunkId commit{};
    uint32_t previous = 0;

    [[nodiscard]] size_t Hash() const { return IcechunkIdHash()(commit); }
  };
  static_assert(sizeof(Record) == 16);

  mutable Mutex mutex_;
  RecentRecords<Record> records_ GUARDED_BY(mutex_){kMaxSteps};
};

}  // namespace zarrfs
