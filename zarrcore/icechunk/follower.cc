#include "zarrcore/icechunk/follower.h"

#include <optional>
#include <utility>

#include "zarrcore/base/memory_budget.h"

namespace zarrfs {
namespace {

// If a repository of version 1 is upgraded to version 2, its old pointer stays unchanged. To notice
// this in a slow store, every kWholeLooks-th check looks up the branch again. The other checks only
// compare the version of the pointer file.
constexpr uint64_t kWholeLooks = 16;

}  // namespace

void IcechunkFollower::Start(HeadPtr head, Prepare prepare, ChangeListener listener,
                             std::function<void(std::string_view)> report) {
  prepare_ = std::move(prepare);
  report_ = std::move(report);
  {
    const MutexLock lock(mutex_);
    heads_[1] = std::move(head);
    generation_ = 1;
  }
  thread_.Start([this](bool is_woken) { Step(is_woken); }, std::move(listener), report_);
}

IcechunkFollower::HeadPtr IcechunkFollower::head() const {
  const MutexLock lock(mutex_);
  return heads_[generation_ % heads_.size()];
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
  thread_.Report(changes, [&] { Serve(*std::move(next), true); });
}

void IcechunkFollower::Serve(HeadPtr next, bool is_another) {
  HeadPtr old;  // released after unlocking
  const MutexLock lock(mutex_);
  const uint64_t generation = generation_ + (is_another ? 1 : 0);
  HeadPtr& slot = heads_[generation % heads_.size()];
  old = std::exchange(slot, std::move(next));
  generation_ = generation;
}

}  // namespace zarrfs
