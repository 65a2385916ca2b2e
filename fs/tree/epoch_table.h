// EpochTable: which version of a stored object the inodes of its chunks stand for.
//
// A file's inode never changes its content, so a chunk of a changed shard must be another inode.
// The table holds, for each stored object that was seen, a fingerprint of the version seen last and
// how often it was another one before: its epoch; and the fingerprints of the last kMaxPast
// versions before that. Nothing is held for a chunk inside a shard. Thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

namespace zarrfs {

class EpochTable {
 public:
  /// For so many objects, about: of a few, all are looked up under one lock.
  explicit EpochTable(uint64_t objects = UINT64_MAX)
      : part_count_(objects <= kObjectsOfOnePart ? 1 : 8),
        parts_(std::make_unique<Part[]>(part_count_)) {}

  /// The epoch of `object` in the version with `fingerprint`: 0 for the first version ever seen,
  /// one more each time the version differs from the one before.
  uint32_t Observe(uint64_t object, uint64_t fingerprint) {
    Part& part = PartOf(object);
    const std::lock_guard lock(part.mutex);
    const auto [known, added] = part.seen.try_emplace(object, Seen{fingerprint, 0});
    if (!added && known->second.fingerprint != fingerprint) {
      if (part.past.size() >= kMaxPast) {
        part.past.erase(part.past.begin(), part.past.begin() + kMaxPast / 2);
      }
      part.past.push_back({object, known->second});
      known->second = Seen{fingerprint, known->second.epoch + 1};
    }
    return known->second.epoch;
  }

  /// The fingerprint of the version that had this epoch (by `same`, a bool(uint32_t epoch)), the
  /// current one included; nullopt if that is too long ago.
  template <typename Same>
  std::optional<uint64_t> FingerprintOf(uint64_t object, Same same) {
    Part& part = PartOf(object);
    const std::lock_guard lock(part.mutex);
    const auto known = part.seen.find(object);
    if (known != part.seen.end() && same(known->second.epoch)) return known->second.fingerprint;
    // NOLINTNEXTLINE(modernize-loop-convert): clang 14 cannot compile std::views::reverse
    for (auto past = part.past.rbegin(); past != part.past.rend(); ++past) {
      if (past->object == object && same(past->seen.epoch)) return past->seen.fingerprint;
    }
    return std::nullopt;
  }

  /// The epoch that was observed last; 0 if none was.
  uint32_t Current(uint64_t object) {
    Part& part = PartOf(object);
    const std::lock_guard lock(part.mutex);
    const auto known = part.seen.find(object);
    return known == part.seen.end() ? 0 : known->second.epoch;
  }

  /// For reads, which may still hold a version that a look-up has found superseded. The epoch of
  /// the version, if it is the one that was observed last.
  std::optional<uint32_t> Known(uint64_t object, uint64_t fingerprint) {
    Part& part = PartOf(object);
    const std::lock_guard lock(part.mutex);
    const auto known = part.seen.find(object);
    if (known == part.seen.end() || known->second.fingerprint != fingerprint) return std::nullopt;
    return known->second.epoch;
  }

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
  struct Part {
    std::mutex mutex;
    std::unordered_map<uint64_t, Seen> seen;
    std::vector<Past> past;  // oldest first
  };
  Part& PartOf(uint64_t object) { return parts_[object % part_count_]; }

  const size_t part_count_;
  const std::unique_ptr<Part[]> parts_;
};

}  // namespace zarrfs
