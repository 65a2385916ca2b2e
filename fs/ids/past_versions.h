// PastVersions: records the earlier versions of a mount's stored objects that inodes may still
// represent. A version consists of its fingerprint, and the step of the store (Store::ReadAsOf) in
// which it can be read again.
//
// FORGET reports each inode that the kernel has dropped. But an object may have millions of chunks,
// so the inodes of each version are not counted. Instead, the last `limit` versions of all objects
// are kept, and the oldest are dropped first. Thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "zarrcore/base/hash.h"
#include "zarrcore/base/mutex.h"
#include "zarrcore/base/recent_records.h"

namespace zarrfs {

/// Inode numbers contain epochs modulo kEpochs.
inline constexpr uint32_t kEpochs = 0xfffe;

/// The version of an object that an epoch represents.
struct ObjectVersion {
  uint64_t fingerprint = 0;
  uint32_t step = 0;  // 0 if the store cannot read the version again

  bool operator==(const ObjectVersion&) const = default;
};

class PastVersions {
 public:
  /// The maximum number of versions for stores that can read earlier versions. They take about 36
  /// MB.
  static constexpr size_t kMax = 1'000'000;
  /// The maximum number of versions for stores that can read an earlier version only while its
  /// object is open (SupersededShards).
  static constexpr size_t kMaxOpen = 65'536;

  explicit PastVersions(size_t limit) : records_(limit) {}

  struct Object {
    uint32_t table = 0;  // see EpochTable::number()
    uint64_t number = 0;
  };
  void Add(const Object& object, uint32_t epoch, const ObjectVersion& version) {
    const MutexLock lock(mutex_);
    (void)records_.Add({object.number, version.fingerprint, object.table, epoch, version.step});
  }

  /// Returns the newest version whose epoch modulo kEpochs is `epoch`; nullopt if it was dropped.
  [[nodiscard]] std::optional<ObjectVersion> Find(const Object& object, uint16_t epoch) const {
    const MutexLock lock(mutex_);
    const auto found = records_.FindNewest(
        Record{object.number, 0, object.table, epoch, 0}.Hash(), [&](const Record& record) {
          return record.object == object.number && record.table == object.table &&
                 record.epoch % kEpochs == epoch;
        });
    if (found.record == nullptr) return std::nullopt;
    return ObjectVersion{found.record->fingerprint, found.record->step};
  }

  [[nodiscard]] size_t size() const {
    const MutexLock lock(mutex_);
    return records_.size();
  }
  [[nodiscard]] size_t limit() const {
    const MutexLock lock(mutex_);
    return records_.limit();
  }
  /// The memory used, in bytes.
  [[nodiscard]] size_t bytes() const {
    const MutexLock lock(mutex_);
    return records_.bytes();
  }

 private:
  struct Record {
    uint64_t object = 0;
    uint64_t fingerprint = 0;
    uint32_t table = 0;
    uint32_t epoch = 0;
    uint32_t step = 0;
    uint32_t previous = 0;

    [[nodiscard]] size_t Hash() const { return HashFields(object, table, epoch % kEpochs); }
  };
  static_assert(sizeof(Record) == 32);

  mutable Mutex mutex_;
  RecentRecords<Record> records_ GUARDED_BY(mutex_);
};

}  // namespace zarrfs
