#include "zarrcore/array/shard_cache.h"

#include <optional>
#include <type_traits>
#include <utility>

#include "zarrcore/base/clocks.h"
#include "zarrcore/store/forwarding_store.h"

namespace zarrfs {
namespace {

std::atomic<uint64_t> next_id{1};

}  // namespace

class ShardCache::OuterLoader final : public IndexCache::Loader {
 public:
  OuterLoader(const ShardCache& shards, OuterIndex outer) : shards_(shards), outer_(outer) {}

  Validity Watch() override {
    const auto forms = shards_.naming_.candidates();
    Validity watched = WatchFolderOf(forms.front());
    if (forms.size() > 1) watched &= WatchFolderOf(forms.back());
    return watched;
  }

  Result<Revalidation> Revalidate(const OpenShardPtr& known) override {
    const auto info = Stat();
    if (known->is_absent && !info && info.error().code == ErrorCode::kNotFound) {
      return Revalidation::kCurrent;
    }
    if (info && info->version == known->info.version) return Revalidation::kCurrent;
    if (info || info.error().code == ErrorCode::kNotFound) shards_.SetChanged();
    if (!info) return Fail(info);
    return Revalidation::kReplaced;
  }

  Result<IndexCache::Loaded> Load() override {
    auto loaded =
        AskForKey([&](const std::string& key) { return shards_.reader_.ReadOuter(outer_, key); });
    const bool is_absent = !loaded && loaded.error().code == ErrorCode::kNotFound;
    if (!is_absent || shards_.store_->AnswersFast()) return loaded;
    auto absent = std::make_shared<OpenShard>();
    absent->is_absent = true;
    return IndexCache::Loaded{std::move(absent), sizeof(OpenShard) + 256};
  }

  Validity ValidityOf(const OpenShard& shard, Validity watched) override {
    return shard.info.may_change_elsewhere ? Validity() : watched;
  }
  bool IsRacy(const OpenShard& shard) override {
    return zarrfs::IsRacy(*shards_.store_, shard.info);
  }
  std::optional<int64_t> ChangedNs(const OpenShard& shard) override {
    if (shard.is_absent) return std::nullopt;
    return shard.info.version.ctime_ns;
  }
  void OnForgotten(const OpenShardPtr& old) override {
    if (shards_.on_superseded_ && !old->is_absent) shards_.on_superseded_(outer_, old);
  }

  // Returns kNotFound if `answer` says that the object does not exist; otherwise returns `answer`.
  [[nodiscard]] Answer Present(Answer answer) {
    if (!answer.value || *answer.value == nullptr || !(*answer.value)->is_absent) return answer;
    return {Fail(ErrorCode::kNotFound, "{}: no such object", shards_.ObjectKey(outer_)),
            answer.validity};
  }

  [[nodiscard]] Result<ObjectInfo> Stat() {
    return AskForKey([&](const std::string& key) -> Result<ObjectInfo> {
      auto info = shards_.store_->Stat(key);
      if (info && info->is_folder) return Fail(ErrorCode::kNotFound, "{} is a folder", key);
      return info;
    });
  }

 private:
  // Calls `ask` with the object's key. While the key separator is undecided, tries both separators;
  // the first key that has an object decides the naming.
  template <typename Ask>
  [[nodiscard]] std::invoke_result_t<Ask, std::string> AskForKey(const Ask& ask) {
    const auto forms = shards_.naming_.candidates();
    auto answer = ask(KeyIn(forms.front()));
    const bool is_absent = !answer && answer.error().code == ErrorCode::kNotFound;
    const ChunkNaming* asked = &forms.front();
    if (is_absent && forms.size() > 1) {
      asked = &forms.back();
      answer = ask(KeyIn(*asked));
    }
    if (answer) shards_.naming_.Decide(*asked);
    return answer;
  }
  [[nodiscard]] Validity WatchFolderOf(const ChunkNaming& form) {
    return WatchOf(*shards_.store_, FolderOf(KeyIn(form)), form);
  }
  // Returns the object's key under the naming `form`. The key is cached, because most loaders use
  // it several times.
  const std::string& KeyIn(const ChunkNaming& form) {
    if (form_ != &form) {
      key_ = shards_.KeyIn(form, outer_);
      form_ = &form;
    }
    return key_;
  }

  const ShardCache& shards_;
  const OuterIndex outer_;
  std::string key_;                    // the object's key under the naming `form_`
  const ChunkNaming* form_ = nullptr;  // the naming of key_
};

ShardCache::ShardCache(std::shared_ptr<const Store> store, std::string folder,
                       const ArrayLayout& layout, const ObjectNaming& naming,
                       std::shared_ptr<IndexCache> cache, OnSuperseded on_superseded,
                       const ShardCache* before)
    : store_(std::move(store)),
      folder_(std::move(folder)),
      layout_(layout),
      naming_(naming),
      reader_(*store_, layout_),
      cache_(std::move(cache)),
      on_superseded_(std::move(on_superseded)),
      id_(before != nullptr ? before->id_ : next_id++),
      changed_ns_(before != nullptr ? before->changed_ns() : 0) {}

ShardCache::Answer ShardCache::Open(OuterIndex outer, Age max_age) const {
  OuterLoader loader(*this, outer);
  return loader.Present(cache_->Get(KeyOf(outer), max_age, loader));
}

ShardCache::Answer ShardCache::Look(OuterIndex outer, Age max_age) const {
  // If all objects of the store change at once (ChangesInSteps()), a chunk that was only stat'ed
  // might be read after such a change. So the object must be opened now.
  if (store_->ChangesInSteps()) {
    if (auto opened = Open(outer, max_age); opened.value) return opened;
  }
  OuterLoader loader(*this, outer);
  Answer cached = cache_->GetCached(KeyOf(outer), max_age, loader);
  if (!cached.value || *cached.value != nullptr) return loader.Present(std::move(cached));
  const Moment asked = Moment::Now(*store_);
  const bool is_watched = max_age != kAnyAge && asked.validity().is_known();
  const Validity watched = is_watched ? asked.validity() & loader.Watch() : Validity();
  auto info = loader.Stat();
  if (info && IsRacy(*store_, *info) && WaitOutRacy(*store_)) info = loader.Stat();
  if (!info) {
    const bool is_gone = info.error().code == ErrorCode::kNotFound;
    return {Fail(info), is_gone ? watched : Validity()};
  }
  auto seen = std::make_shared<OpenShard>();
  seen->info = std::move(*info);
  seen->fingerprint = seen->info.version.Fingerprint();
  seen->size = seen->info.size();
  const Validity validity = loader.ValidityOf(*seen, watched);
  return {std::move(seen), validity};
}

Result<OpenShardPtr> ShardCache::OpenAsOf(OuterIndex outer, uint32_t step) const {
  const StoreAsOf then(store_, step);
  return ShardReader(then, layout_)
      .ReadOuter(outer, ObjectKey(outer))
      .map([](IndexCache::Loaded&& loaded) { return OpenShardPtr(std::move(loaded.value)); });
}

Result<OpenShardPtr> ShardCache::OpenNested(const OpenShardPtr& parent, uint32_t level,
                                            uint64_t linear, const ChunkRange& range) const {
  return cache_->GetVersion(
      ShardKey{id_, linear, level},
      [&](const OpenShard& shard) { return shard.object == parent->object; },
      [&] { return reader_.ReadNested(*parent, level, range); });
}

void ShardCache::Forget(OuterIndex outer) const {
  cache_->Erase(KeyOf(outer));
  SetChanged();
}

std::string ShardCache::KeyIn(const ChunkNaming& form, OuterIndex outer) const {
  ChunkCoordinates at;
  layout_.outer_grid.Coordinates(ToNumber(outer), at);
  return JoinKey(folder_, form.Path({at.data(), layout_.outer_grid.rank()}));
}

void ShardCache::SetChanged() const { changed_ns_.store(RealNowNs(), std::memory_order_relaxed); }

}  // namespace zarrfs
