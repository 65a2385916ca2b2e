#include "zarrcore/icechunk/follower.h"

#include <new>
#include <optional>
#include <utility>

#include "zarrcore/base/memory_budget.h"

namespace zarrfs {
namespace {

// The pointer of version 1 stays as it is when a repository becomes one of version 2: one in so
// many looks of a slow store sees that.
constexpr uint64_t kWholeLooks = 16;

}  // namespace

void IcechunkFollower::Start(HeadPtr head, Prepare prepare, ChangeListener listener,
                             std::function<void(std::string_view)> report) {
  prepare_ = std::move(prepare);
  listener_ = std::move(listener);
  report_ = std::move(report);
  // (Without a watch, the pointer is looked at once a period.)
  (void)container_->StartWatching(
      [wake = wake_](const Changes&) {
        const std::lock_guard lock(wake->mutex);
        wake->is_pending = true;
        wake->woken.notify_all();
      },
      report_);
  (void)container_->WatchAllNames(FolderOf(head->pointer.key));
  {
    const std::lock_guard lock(mutex_);
    heads_[1] = std::move(head);
    generation_ = 1;
  }
  // What has changed since `head` was read.
  wake_->is_pending = true;
  thread_ = std::jthread([this](const std::stop_token& stop) { Run(stop); });
}

IcechunkFollower::HeadPtr IcechunkFollower::head() const {
  const std::lock_guard lock(mutex_);
  return heads_[generation_ % heads_.size()];
}

void IcechunkFollower::Run(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    bool is_woken = false;
    {
      std::unique_lock lock(wake_->mutex);
      wake_->woken.wait_for(lock, stop, period_, [&] { return wake_->is_pending; });
      is_woken = std::exchange(wake_->is_pending, false);
    }
    try {
      if (!stop.stop_requested()) Step(is_woken);
    } catch (const std::bad_alloc&) {
      // How far the step has come is not known.
      Changes all;
      all.all = true;
      Report(all);
    }
  }
}

void IcechunkFollower::Report(Changes& changes, const std::function<void()>& step) {
  changes.is_coming = true;
  listener_(changes);
  if (step) step();
  changes.is_coming = false;
  changes.was_announced = true;
  listener_(changes);
}

bool IcechunkFollower::IsUnchanged(const IcechunkHead& known, bool is_woken) {
  const bool is_whole = ++looks_ % kWholeLooks == 0 || container_->AnswersFast();
  if (is_woken || is_whole || IsRacy(*container_, known.pointer.info)) return false;
  const auto info = container_->Stat(known.pointer.key);
  return info && info->version == known.pointer.info.version;
}

void IcechunkFollower::Step(bool is_woken) {
  const HeadPtr known = head();
  std::optional<MemoryBudget::Work> work(std::in_place, ProcessMemory());
  (void)container_->WatchAllNames(FolderOf(known->pointer.key));
  if (IsUnchanged(*known, is_woken)) return;
  auto next = IcechunkHead::Read(*container_, at_, known.get());
  if (!next) {
    if (!std::exchange(has_failed_, true)) {
      report_(fmt::format("{}: {} is shown as it was: {}", container_->name(), at_.Text(),
                          next.error().message));
    }
    return;
  }
  has_failed_ = false;
  if ((*next)->snapshot->id() == known->snapshot->id()) return Serve(*std::move(next), false);
  Changes changes = prepare_(*known, **next);
  work.reset();
  Report(changes, [&] { Serve(*std::move(next), true); });
}

void IcechunkFollower::Serve(HeadPtr next, bool is_another) {
  HeadPtr old;  // released after the lock
  const std::lock_guard lock(mutex_);
  const uint64_t generation = generation_ + (is_another ? 1 : 0);
  HeadPtr& slot = heads_[generation % heads_.size()];
  old = std::exchange(slot, std::move(next));
  generation_ = generation;
}

}  // namespace zarrfs
