// Base classes of stores that wrap another store.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "zarrcore/store/store.h"

namespace zarrfs {

/// A store that forwards every call to another store, unless the call is overridden.
class ForwardingStore : public Store {
 public:
  explicit ForwardingStore(std::shared_ptr<const Store> store) : store_(std::move(store)) {}

  Result<ObjectInfo> Stat(std::string_view key) const override { return store_->Stat(key); }
  Result<ReadAnswer> Read(std::string_view key, ByteRange range,
                          std::span<std::byte> out) const override {
    return store_->Read(key, range, out);
  }
  Result<ReadAnswer> ReadAsOf(uint32_t step, std::string_view key, ByteRange range,
                              std::span<std::byte> out) const override {
    return store_->ReadAsOf(step, key, range, out);
  }
  Result<std::unique_ptr<FolderStream>> OpenFolder(std::string_view folder) const override {
    return store_->OpenFolder(folder);
  }
  Result<uint64_t> OffsetInFile(std::string_view key) const override {
    return store_->OffsetInFile(key);
  }
  Result<StoreCapacity> Capacity() const override { return store_->Capacity(); }
  Result<void> StartWatching(ChangeListener listener,
                             std::function<void(std::string_view)> report) const override {
    return store_->StartWatching(std::move(listener), std::move(report));
  }
  WatchState watch_state() const override { return store_->watch_state(); }
  uint64_t Watch(std::string_view folder) const override { return store_->Watch(folder); }
  uint64_t WatchAllNames(std::string_view folder) const override {
    return store_->WatchAllNames(folder);
  }
  uint64_t change_count() const override { return store_->change_count(); }
  void CloseIdle() const override { store_->CloseIdle(); }
  std::optional<ObjectInfo> FolderOfKeys() const override { return store_->FolderOfKeys(); }
  bool ChangesInSteps() const override { return store_->ChangesInSteps(); }
  bool AnswersFast() const override { return store_->AnswersFast(); }
  bool ListsByAsking() const override { return store_->ListsByAsking(); }
  int64_t TimestampGranularityNs() const override { return store_->TimestampGranularityNs(); }
  std::string name() const override { return store_->name(); }

 private:
  const std::shared_ptr<const Store> store_;
};

/// A store that wraps another store's Stat(), Read(), ReadAsOf(), OpenFolder() and Capacity() in
/// `through`, and also the calls of the returned objects and folder streams. through(call) returns
/// call() or fails. through.Read(call, bytes_of) does the same for reads; bytes_of(answer) is the
/// number of bytes read.
template <typename Through>
class ThroughStore : public ForwardingStore {
 public:
  explicit ThroughStore(std::shared_ptr<const Store> store, Through through = {})
      : ForwardingStore(std::move(store)), through_(std::move(through)) {}

  Result<ObjectInfo> Stat(std::string_view key) const override {
    return through_([&] { return ForwardingStore::Stat(key); });
  }
  Result<ReadAnswer> Read(std::string_view key, ByteRange range,
                          std::span<std::byte> out) const override {
    return ReadThrough([&] { return ForwardingStore::Read(key, range, out); });
  }
  Result<ReadAnswer> ReadAsOf(uint32_t step, std::string_view key, ByteRange range,
                              std::span<std::byte> out) const override {
    return ReadThrough([&] { return ForwardingStore::ReadAsOf(step, key, range, out); });
  }
  Result<std::unique_ptr<FolderStream>> OpenFolder(std::string_view folder) const override {
    auto stream = through_([&] { return ForwardingStore::OpenFolder(folder); });
    if (stream) stream = std::make_unique<ThisStream>(*std::move(stream), through_);
    return stream;
  }
  Result<StoreCapacity> Capacity() const override {
    return through_([&] { return ForwardingStore::Capacity(); });
  }

 private:
  class ThisObject final : public Object {
   public:
    ThisObject(std::shared_ptr<const Object> object, Through through)
        : object_(std::move(object)), through_(std::move(through)) {}

    const ObjectInfo& info() const override { return object_->info(); }
    bool was_listed() const override { return object_->was_listed(); }
    bool came_with_first_bytes() const override { return object_->came_with_first_bytes(); }
    Result<void> Read(uint64_t offset, std::span<std::byte> out) const override {
      return through_.Read([&] { return object_->Read(offset, out); },
                           [&](const auto&) { return out.size(); });
    }

   private:
    const std::shared_ptr<const Object> object_;
    const Through through_;
  };

  class ThisStream final : public FolderStream {
   public:
    ThisStream(std::unique_ptr<FolderStream> stream, Through through)
        : stream_(std::move(stream)), through_(std::move(through)) {}

    Result<std::vector<ListEntry>> Next(size_t count) override {
      return through_([&] { return stream_->Next(count); });
    }

   private:
    const std::unique_ptr<FolderStream> stream_;
    const Through through_;
  };

  template <typename Call>
  Result<ReadAnswer> ReadThrough(const Call& call) const {
    auto answer = through_.Read(call, [](const auto& read) { return read->length; });
    if (answer) answer->object = std::make_shared<ThisObject>(std::move(answer->object), through_);
    return answer;
  }

  const Through through_;
};

/// A store whose Read() reads from an earlier state of another store, which `step` identifies
/// (Store::ReadAsOf).
class StoreAsOf final : public ForwardingStore {
 public:
  StoreAsOf(std::shared_ptr<const Store> store, uint32_t step)
      : ForwardingStore(std::move(store)), step_(step) {}

  Result<ReadAnswer> Read(std::string_view key, ByteRange range,
                          std::span<std::byte> out) const override {
    return ForwardingStore::ReadAsOf(step_, key, range, out);
  }

 private:
  const uint32_t step_;
};

}  // namespace zarrfs
