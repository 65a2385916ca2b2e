#include "fs/fuse/notifier.h"

#include <linux/fuse.h>
#include <spdlog/spdlog.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <new>
#include <thread>

#include "fs/fuse/connection.h"

namespace zarrfs {
namespace {

// The maximum number of pending changes; if more are pending, everything is invalidated.
constexpr size_t kMaxPending = 65536;
// The delays before InvalidateAll() is repeated, each counted from the previous call.
constexpr std::array<std::chrono::seconds, 2> kRepeats = {std::chrono::seconds(1),
                                                          std::chrono::seconds(9)};
constexpr uint32_t kExpireOnly = 1;  // FUSE_EXPIRE_ONLY, which older headers lack

void MakeUnique(std::vector<std::string>& values) {
  std::ranges::sort(values);
  values.erase(std::unique(values.begin(), values.end()), values.end());
}

}  // namespace

// Sends a notification for each affected name. Skips folders that the kernel does not know, which
// are most folders of arrays.
class Notifier::Sender final : public EntryInvalidator {
 public:
  // `can_expire`: the kernel can mark a name as expired instead of dropping it.
  Sender(fuse_session* session, bool can_expire) : session_(session), can_expire_(can_expire) {}

  bool InvalidateFolder(NodeId folder) override {
    // Invalidates only the attributes. The kernel may report ENOENT for the root, although it knows
    // the root.
    return fuse_lowlevel_notify_inval_inode(session_, folder, -1, 0) != -ENOENT ||
           folder == kRootId;
  }
  void DropEntry(NodeId folder, const std::string& name) override { Send(folder, name, 0); }
  void CheckEntry(NodeId folder, const std::string& name) override {
    Send(folder, name, can_expire_ ? kExpireOnly : 0);
  }

 private:
  void Send(NodeId folder, const std::string& name, uint32_t flags) {
    fuse_notify_inval_entry_out entry{};
    entry.parent = folder;
    entry.namelen = static_cast<uint32_t>(name.size());
    // The flags are the last member of this kernel struct, which is called `padding` in older
    // headers and `flags` in newer ones.
    std::memcpy(reinterpret_cast<char*>(&entry) + sizeof entry - sizeof flags, &flags,
                sizeof flags);
    fuse_out_header header{};
    header.error = FUSE_NOTIFY_INVAL_ENTRY;
    header.len = static_cast<uint32_t>(sizeof header + sizeof entry + name.size() + 1);
    const std::array<iovec, 3> pieces = {iovec{&header, sizeof header}, iovec{&entry, sizeof entry},
                                         iovec{const_cast<char*>(name.c_str()), name.size() + 1}};
    // The write fails if the kernel has not cached the name. That is no error.
    [[maybe_unused]] const ssize_t sent =
        writev(fuse_session_fd(session_), pieces.data(), pieces.size());
  }

  fuse_session* const session_;
  const bool can_expire_;
};

void Notifier::Start(fuse_session* session, bool use_epoch, bool has_names, FindNames find_names,
                     Sweep sweep) {
  session_ = session;
  find_names_ = std::move(find_names);
  sweep_ = std::move(sweep);
  can_invalidate_all_ = use_epoch && IncEpoch(fuse_session_fd(session));
  if (!can_invalidate_all_) {
    spdlog::debug("the kernel caches names only for a time: {}",
                  use_epoch ? "the kernel cannot invalidate all names at once"
                            : "the option no_epoch is set");
  }
  if (has_names) RepeatInvalidateAll();
  std::thread([this] { Run(); }).detach();
}

void Notifier::Notify(const Changes& changes) {
  const MutexLock lock(mutex_);
  if (!pending_) {
    pending_.emplace();
    pending_since_ = Clock::now();
  }
  pending_->all = pending_->all || changes.all || pending_->size() + changes.size() > kMaxPending;
  pending_->all_names = pending_->all_names || changes.all_names;
  if (!pending_->all) {
    pending_->keys.insert(pending_->keys.end(), changes.keys.begin(), changes.keys.end());
    pending_->folders.insert(pending_->folders.end(), changes.folders.begin(),
                             changes.folders.end());
    pending_->unwatched.insert(pending_->unwatched.end(), changes.unwatched.begin(),
                               changes.unwatched.end());
  }
  woken_.notify_one();
}

void Notifier::Send(Changes& changes) {
  MakeUnique(changes.keys);
  MakeUnique(changes.folders);
  MakeUnique(changes.unwatched);
  if (SendNames(changes)) return;
  InvalidateAll();
  RepeatInvalidateAll();
}

bool Notifier::SendNames(const Changes& changes) {
  Sender sender(session_, can_invalidate_all_);
  const MutexLock lock(finding_);
  try {
    return find_names_(changes, sender);
  } catch (const std::bad_alloc&) {
    return false;  // the caller invalidates all names instead
  }
}

void Notifier::NotifyNow(const Changes& changes) {
  // If one notification cannot invalidate all names, no name is cached without a timeout.
  if (!can_invalidate_all_) return;
  if (!SendNames(changes)) InvalidateAll();
}

void Notifier::RepeatInvalidateAll() {
  repeats_ = 0;
  repeat_at_ = Clock::now() + kRepeats.front();
}

void Notifier::RepeatIfDue() {
  if (Clock::now() < repeat_at_) return;
  InvalidateAll();
  ++repeats_;
  repeat_at_ =
      repeats_ < kRepeats.size() ? Clock::now() + kRepeats[repeats_] : Clock::time_point::max();
}

void Notifier::InvalidateAll() {
  Sender sender(session_, can_invalidate_all_);
  // The root has no name to invalidate, so its attributes are invalidated instead.
  (void)sender.InvalidateFolder(kRootId);
  if (!can_invalidate_all_) return;
  if (!IncEpoch(fuse_session_fd(session_))) {
    spdlog::debug("the kernel does not accept notifications: {}", std::strerror(errno));
  }
}

Notifier::Clock::time_point Notifier::SweepNow() {
  try {
    auto [again, forgotten] = sweep_();
    if (forgotten.size() > 0) Send(forgotten);
    return again;
  } catch (const std::bad_alloc&) {
    return Clock::now() + kBurstPeriod;
  }
}

void Notifier::Run() {
  Clock::time_point last_burst{};
  Clock::time_point sweep_at = SweepNow();
  MutexLock lock(mutex_);
  for (;;) {
    Clock::time_point until = sweep_at;
    until = std::min(until, repeat_at_);
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
      Send(*burst);
    }
    RepeatIfDue();
    if (Clock::now() >= sweep_at) sweep_at = SweepNow();
    lock.lock();
  }
}

}  // namespace zarrfs
