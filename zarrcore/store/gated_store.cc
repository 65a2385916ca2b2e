#include "zarrcore/store/gated_store.h"

#include <utility>

#include "zarrcore/base/waiting.h"

namespace zarrfs {
namespace {

tl::unexpected<Error> WouldBlock() {
  return Fail(ErrorCode::kWouldBlock, "the store may take long to answer");
}

class GatedObject final : public Object {
 public:
  explicit GatedObject(std::shared_ptr<const Object> object) : object_(std::move(object)) {}
  const ObjectInfo& info() const override { return object_->info(); }
  Result<void> Read(uint64_t offset, std::span<std::byte> out) const override {
    if (!MayWait()) return WouldBlock();
    return object_->Read(offset, out);
  }

 private:
  const std::shared_ptr<const Object> object_;
};

class GatedStore final : public Store {
 public:
  explicit GatedStore(std::shared_ptr<const Store> store) : store_(std::move(store)) {}

  Result<ObjectInfo> Stat(std::string_view key) const override {
    if (!MayWait()) return WouldBlock();
    return store_->Stat(key);
  }
  Result<ReadAnswer> Read(std::string_view key, ByteRange range,
                          std::span<std::byte> out) const override {
    if (!MayWait()) return WouldBlock();
    Result<ReadAnswer> answer = store_->Read(key, range, out);
    if (answer) answer->object = std::make_shared<GatedObject>(std::move(answer->object));
    return answer;
  }
  Result<std::vector<ListEntry>> List(std::string_view folder) const override {
    if (!MayWait()) return WouldBlock();
    return store_->List(folder);
  }
  Result<StoreCapacity> Capacity() const override {
    if (!MayWait()) return WouldBlock();
    return store_->Capacity();
  }
  Result<void> StartWatching(ChangeListener listener,
                             std::function<void(std::string_view)> report) const override {
    return store_->StartWatching(std::move(listener), std::move(report));
  }
  WatchState watch_state() const override { return store_->watch_state(); }
  uint64_t Watch(std::string_view folder) const override {
    return MayWait() ? store_->Watch(folder) : 0;
  }
  uint64_t change_count() const override { return store_->change_count(); }
  void CloseIdle() const override { store_->CloseIdle(); }
  bool AnswersFast() const override { return false; }
  int64_t TimestampGranularityNs() const override { return store_->TimestampGranularityNs(); }
  std::string name() const override { return store_->name(); }

 private:
  const std::shared_ptr<const Store> store_;
};

}  // namespace

std::shared_ptr<const Store> Gate(std::shared_ptr<const Store> store) {
  if (store->AnswersFast()) return store;
  return std::make_shared<GatedStore>(std::move(store));
}

}  // namespace zarrfs
