// Bases of stores, objects and folder streams that stand in front of another one: they hand
// everything on that is not overridden.
#ifndef ZARRCORE_STORE_FORWARDING_STORE_H_
#define ZARRCORE_STORE_FORWARDING_STORE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "zarrcore/store/store.h"

namespace zarrfs {

class ForwardingObject : public Object {
 public:
  explicit ForwardingObject(std::shared_ptr<const Object> object) : object_(std::move(object)) {}

  const ObjectInfo& info() const override { return object_->info(); }
  Result<void> Read(uint64_t offset, std::span<std::byte> out) const override {
    return object_->Read(offset, out);
  }

 private:
  const std::shared_ptr<const Object> object_;
};

class ForwardingFolderStream : public FolderStream {
 public:
  explicit ForwardingFolderStream(std::unique_ptr<FolderStream> stream)
      : stream_(std::move(stream)) {}

  Result<std::vector<ListEntry>> Next(size_t count) override { return stream_->Next(count); }

 private:
  const std::unique_ptr<FolderStream> stream_;
};

class ForwardingStore : public Store {
 public:
  explicit ForwardingStore(std::shared_ptr<const Store> store) : store_(std::move(store)) {}

  Result<ObjectInfo> Stat(std::string_view key) const override { return store_->Stat(key); }
  Result<ReadAnswer> Read(std::string_view key, ByteRange range,
                          std::span<std::byte> out) const override {
    return store_->Read(key, range, out);
  }
  Result<std::unique_ptr<FolderStream>> OpenFolder(std::string_view folder) const override {
    return store_->OpenFolder(folder);
  }
  Result<StoreCapacity> Capacity() const override { return store_->Capacity(); }
  Result<void> StartWatching(ChangeListener listener,
                             std::function<void(std::string_view)> report) const override {
    return store_->StartWatching(std::move(listener), std::move(report));
  }
  WatchState watch_state() const override { return store_->watch_state(); }
  uint64_t Watch(std::string_view folder) const override { return store_->Watch(folder); }
  uint64_t change_count() const override { return store_->change_count(); }
  void CloseIdle() const override { store_->CloseIdle(); }
  bool AnswersFast() const override { return store_->AnswersFast(); }
  int64_t TimestampGranularityNs() const override { return store_->TimestampGranularityNs(); }
  std::string name() const override { return store_->name(); }

 private:
  const std::shared_ptr<const Store> store_;
};

}  // namespace zarrfs

#endif  // ZARRCORE_STORE_FORWARDING_STORE_H_
