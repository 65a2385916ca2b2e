// IcechunkFollower: follows a branch, one commit after the other. At each moment, all answers are
// from the same commit.
//
//   look        checks the branch's pointer when a change is reported, and once per period
//   read        reads the next snapshot, and everything that `prepare` reads for it
//   announce    Changes::is_coming: other caches must evict the changed data, and must not cache it
//               until the report
//   serve       head() and generation() change at the same moment
//   report      the same changes again, with Changes::was_announced
//
// If the branch cannot be read, the previous commit is still served.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

#include "zarrcore/base/mutex.h"
#include "zarrcore/base/result.h"
#include "zarrcore/icechunk/head.h"
#include "zarrcore/icechunk/looks.h"
#include "zarrcore/icechunk/repository.h"
#include "zarrcore/store/store.h"
#include "zarrcore/store/validity.h"

namespace zarrfs {

/// Follows a branch. Thread-safe.
class IcechunkFollower {
 public:
  using HeadPtr = std::shared_ptr<const IcechunkHead>;
  /// Reads the data that must be available once `next` is served, and returns its changes.
  using Prepare = std::function<Changes(const IcechunkHead& before, const IcechunkHead& next)>;

  IcechunkFollower(const std::shared_ptr<const Store>& container, IcechunkAt at, Age period)
      : container_(container), at_(std::move(at)), thread_(container, period) {}

  /// Starts to follow; see Store::StartWatching(). `head` is served until the branch has another
  /// commit. Call only once.
  void Start(HeadPtr head, Prepare prepare, ChangeListener listener,
             std::function<void(std::string_view)> report);

  /// The number of the current commit, which grows with each commit; 0 before Start(). Data read
  /// from head() after this call come from the commit with this number or a later commit.
  [[nodiscard]] uint64_t generation() const { return generation_.load(); }
  [[nodiscard]] HeadPtr head() const;

 private:
  void Step(bool is_woken);
  [[nodiscard]] bool IsUnchanged(const IcechunkHead& known, bool is_woken);
  void Serve(HeadPtr next, bool is_another);

  const std::shared_ptr<const Store> container_;
  const IcechunkAt at_;
  Prepare prepare_;
  std::function<void(std::string_view)> report_;
  bool has_failed_ = false;
  uint64_t looks_ = 0;
  mutable Mutex mutex_;  // guards heads_; also held to change generation_
  std::array<HeadPtr, 2> heads_ GUARDED_BY(mutex_);
  std::atomic<uint64_t> generation_ = 0;
  IcechunkLooks thread_;  // destroyed first, because its thread uses the other members
};

}  // namespace zarrfs
