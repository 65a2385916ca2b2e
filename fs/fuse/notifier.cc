#include "fs/fuse/notifier.h"

#include <linux/fuse.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <thread>

namespace zarrfs {
namespace {

constexpr size_t kMaxPendingKeys = 4096;  // beyond these, everything is invalidated
constexpr int kNotifyIncEpoch = 8;        // FUSE_NOTIFY_INC_EPOCH, which older headers lack

// False, with errno, if the kernel does not know the message.
bool SendIncEpoch(fuse_session* session) {
  fuse_out_header message{};
  message.len = sizeof message;
  message.error = kNotifyIncEpoch;
  return write(fuse_session_fd(session), &message, sizeof message) == sizeof message;
}

}  // namespace

void Notifier::Start(fuse_session* session, bool use_epoch, FindNames find_names, Sweep sweep) {
  session_ = session;
  find_names_ = std::move(find_names);
  sweep_ = std::move(sweep);
  can_invalidate_all_ = use_epoch && SendIncEpoch(session);
  if (!can_invalidate_all_) {
    spdlog::debug("names have timeouts: {}",
                  use_epoch ? "the kernel cannot invalidate all at once" : "as asked for");
  }
  std::thread([this] { Run(); }).detach();
}

void Notifier::Notify(const Changes& changes) {
  const std::lock_guard lock(mutex_);
  if (!pending_) {
    pending_.emplace();
    pending_since_ = Clock::now();
  }
  pending_->all =
      pending_->all || changes.all || pending_->keys.size() + changes.keys.size() > kMaxPendingKeys;
  if (!pending_->all) {
    pending_->keys.insert(pending_->keys.end(), changes.keys.begin(), changes.keys.end());
  }
  woken_.notify_one();
}

void Notifier::Run() {
  Clock::time_point last_burst{};
  Clock::time_point sweep_at = sweep_();
  std::unique_lock lock(mutex_);
  for (;;) {
    Clock::time_point until = sweep_at;
    if (pending_) {
      until = std::min(until, std::max(pending_since_ + kGather, last_burst + kBurstPeriod));
    }
    if (Clock::now() < until) {
      woken_.wait_until(lock, until);
      continue;
    }
    std::optional<Changes> burst;
    if (pending_ && Clock::now() >= std::max(pending_since_ + kGather, last_burst + kBurstPeriod)) {
      burst = std::exchange(pending_, std::nullopt);
    }
    lock.unlock();
    if (burst) {
      last_burst = Clock::now();
      // The root has no name that could be invalidated; of its inode only the attributes.
      fuse_lowlevel_notify_inval_inode(session_, FUSE_ROOT_ID, -1, 0);
      if (!can_invalidate_all_) {
        std::ranges::sort(burst->keys);
        burst->keys.erase(std::unique(burst->keys.begin(), burst->keys.end()), burst->keys.end());
        find_names_(*burst, [this](uint64_t folder, const std::string& name) {
          fuse_lowlevel_notify_inval_entry(session_, folder, name.c_str(), name.size());
        });
      } else if (!SendIncEpoch(session_)) {
        spdlog::debug("the kernel takes no notice of changes: {}", std::strerror(errno));
      }
    }
    if (Clock::now() >= sweep_at) sweep_at = sweep_();
    lock.lock();
  }
}

}  // namespace zarrfs
