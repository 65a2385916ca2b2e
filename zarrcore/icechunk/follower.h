// IcechunkFollower: follows a branch, one commit after the other, so that at each moment all of a
// store is of one commit.
//
//   look        at the pointer: when it is reported to have changed, and once a period
//   read        the next snapshot, and what `prepare` reads for it
//   announce    Changes::is_coming: what is cached of it elsewhere must go, and stay away
//   serve       head() and generation() change at one moment
//   report      the same changes, Changes::was_announced
//
// If the branch cannot be read, the last commit stays.
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string_view>
#include <thread>

#include "zarrcore/base/result.h"
#include "zarrcore/icechunk/head.h"
#include "zarrcore/icechunk/repository.h"
#include "zarrcore/store/store.h"
#include "zarrcore/store/validity.h"

namespace zarrfs {

/// Thread-safe.
class IcechunkFollower {
 public:
  using HeadPtr = std::shared_ptr<const IcechunkHead>;
  /// Reads what is needed once `next` is served, and says in what it differs.
  using Prepare = std::function<Changes(const IcechunkHead& before, const IcechunkHead& next)>;

  IcechunkFollower(std::shared_ptr<const Store> container, IcechunkAt at, Age period)
      : container_(std::move(container)), at_(std::move(at)), period_(period) {}

  /// Call once. As Store::StartWatching; `head` is served until there is another one.
  void Start(HeadPtr head, Prepare prepare, ChangeListener listener,
             std::function<void(std::string_view)> report);

  /// 0 before Start(); then a number that grows with each commit. What is read from head()
  /// afterwards is of this commit or a later one.
  [[nodiscard]] uint64_t generation() const { return generation_.load(); }
  [[nodiscard]] HeadPtr head() const;

 private:
  // Shared with the listener of the container, which may outlive this.
  struct Wake {
    std::mutex mutex;
    std::condition_variable_any woken;
    bool is_pending = false;
  };

  void Run(const std::stop_token& stop);
  void Step(bool is_woken);
  [[nodiscard]] bool IsUnchanged(const IcechunkHead& known, bool is_woken);
  // Reports changes before and after `step`, which makes them.
  void Report(Changes& changes, const std::function<void()>& step = {});
  void Serve(HeadPtr next, bool is_another);

  const std::shared_ptr<const Store> container_;
  const IcechunkAt at_;
  const Age period_;
  const std::shared_ptr<Wake> wake_ = std::make_shared<Wake>();
  Prepare prepare_;
  ChangeListener listener_;
  std::function<void(std::string_view)> report_;
  bool has_failed_ = false;
  uint64_t looks_ = 0;
  mutable std::mutex mutex_;  // guards the next, and changes of generation_
  std::array<HeadPtr, 2> heads_;
  std::atomic<uint64_t> generation_ = 0;
  std::jthread thread_;  // ends first
};

}  // namespace zarrfs
