#include "zarrcore/icechunk/icechunk_store.h"

#include <optional>
#include <string_view>
#include <utility>

#include "zarrcore/icechunk/commit_store.h"
#include "zarrcore/icechunk/differences.h"
#include "zarrcore/icechunk/follower.h"
#include "zarrcore/icechunk/head.h"
#include "zarrcore/store/revalidating_cache.h"

namespace zarrfs {
namespace {

using Heads = RevalidatingCache<int, IcechunkHead>;
using HeadPtr = Heads::ValuePtr;

// Loads the current commit, which is the only value in the cache Heads.
class HeadLoader final : public Heads::Loader {
 public:
  // `found`: the pointer, if the caller has just looked it up.
  HeadLoader(const Store& container, const IcechunkAt& at, HeadPtr known,
             std::optional<IcechunkPointer> found = std::nullopt)
      : container_(container), at_(at), known_(std::move(known)), found_(std::move(found)) {}

  Validity Watch() override {
    if (!at_.moves() || known_ == nullptr) return {};
    return Validity::WatchAllNames(container_, FolderOf(known_->pointer.key));
  }

  Result<Revalidation> Revalidate(const HeadPtr& known) override {
    if (!at_.moves()) return Revalidation::kCurrent;
    const auto info = container_.Stat(known->pointer.key);
    if (info && info->version == known->pointer.info.version) return Revalidation::kCurrent;
    return Revalidation::kUnknown;  // Load() will read the pointer and compare
  }

  Result<Heads::Loaded> Load() override {
    auto head = found_ ? IcechunkHead::ReadSnapshotOf(
                             container_, *std::exchange(found_, std::nullopt), known_.get())
                       : IcechunkHead::Read(container_, at_, known_.get());
    if (!head) return Fail(head);
    return Heads::Loaded{*std::move(head), 1};
  }

  Validity ValidityOf(const IcechunkHead& head, Validity watched) override {
    return head.pointer.info.may_change_elsewhere ? Validity() : watched;
  }
  bool IsRacy(const IcechunkHead& head) override {
    return at_.moves() && zarrfs::IsRacy(container_, head.pointer.info);
  }

 private:
  const Store& container_;
  const IcechunkAt& at_;
  const HeadPtr known_;
  std::optional<IcechunkPointer> found_;
};

class IcechunkStore final : public IcechunkCommitStore {
 public:
  IcechunkStore(const std::shared_ptr<const Store>& container, IcechunkAt at, Age max_age,
                Age period, std::shared_ptr<const IcechunkVirtualChunks> virtual_chunks)
      : IcechunkCommitStore(container, std::move(virtual_chunks)),
        at_(std::move(at)),
        max_age_(max_age),
        heads_(container, /*capacity_bytes=*/1, /*splits=*/1),
        follower_(container, at_, period) {}

  /// `found`: see HeadLoader.
  [[nodiscard]] Result<HeadPtr> Current(std::optional<IcechunkPointer> found = std::nullopt) const {
    if (follower_.generation() != 0) return follower_.head();
    HeadLoader loader(*container(), at_, heads_.Find(0), std::move(found));
    return heads_.Get(0, at_.moves() ? max_age_ : kAnyAge, loader).value;
  }

  // Only the pointer of a branch can change. Tags and snapshots never do.
  [[nodiscard]] Result<void> StartWatching(
      ChangeListener listener, std::function<void(std::string_view)> report) const override {
    if (!at_.moves()) return {};
    auto head = Current();
    if (!head) return Fail(head);
    const auto prepare = [this](const IcechunkHead& before, const IcechunkHead& next) {
      return FindIcechunkChanges(reader().finder(), *before.snapshot, *next.snapshot);
    };
    follower_.Start(*std::move(head), prepare, std::move(listener), std::move(report));
    return {};
  }
  [[nodiscard]] uint64_t change_count() const override {
    return at_.moves() ? follower_.generation() : 1;
  }
  [[nodiscard]] WatchState watch_state() const override {
    return at_.moves() ? container()->watch_state() : WatchState{};
  }

 private:
  [[nodiscard]] Result<IcechunkKey> Resolve(std::string_view key) const override {
    auto head = Current();
    if (!head) return tl::unexpected(IcechunkErrorOfCall(head.error()));
    return KeyIn(*std::move(head), key, key);
  }

  const IcechunkAt at_;
  const Age max_age_;
  mutable Heads heads_;
  mutable IcechunkFollower follower_;  // destroyed first, because its thread uses the other members
};

}  // namespace

Result<std::shared_ptr<Store>> OpenIcechunkStore(
    const std::shared_ptr<const Store>& container, IcechunkAt at, Age max_age, Age period,
    std::shared_ptr<const IcechunkVirtualChunks> virtual_chunks) {
  auto pointer = FindIcechunkPointer(*container, at);
  if (!pointer) return Fail(pointer);
  return OpenIcechunkStore(container, std::move(at), *std::move(pointer), max_age, period,
                           std::move(virtual_chunks));
}

Result<std::shared_ptr<Store>> OpenIcechunkStore(
    const std::shared_ptr<const Store>& container, IcechunkAt at, IcechunkPointer pointer,
    Age max_age, Age period, std::shared_ptr<const IcechunkVirtualChunks> virtual_chunks) {
  auto store = std::make_shared<IcechunkStore>(container, std::move(at), max_age, period,
                                               std::move(virtual_chunks));
  if (const auto head = store->Current(std::move(pointer)); !head) return Fail(head);
  return store;
}

std::shared_ptr<const Store> IcechunkContainerOf(const Store& store) {
  const auto* const repository = dynamic_cast<const IcechunkCommitStore*>(&store);
  return repository == nullptr ? nullptr : repository->container();
}

Result<VirtualFolders> IcechunkVirtualFoldersOf(const Store& store) {
  const auto* const repository = dynamic_cast<const IcechunkCommitStore*>(&store);
  return repository == nullptr ? VirtualFolders() : repository->FoldersOfVirtualChunks();
}

Result<IcechunkPlace> IcechunkPlaceOf(const Store& store, std::string_view key) {
  const auto* const repository = dynamic_cast<const IcechunkCommitStore*>(&store);
  if (repository == nullptr) {
    return Fail(ErrorCode::kInvalidArgument, "{}: not an Icechunk repository", store.name());
  }
  return repository->PlaceOf(key);
}

}  // namespace zarrfs
