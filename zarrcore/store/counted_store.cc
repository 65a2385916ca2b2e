#include "zarrcore/store/counted_store.h"

#include <utility>

namespace zarrfs {
namespace {

// Whether the store could not do what it was asked.
bool IsStoreError(ErrorCode code) {
  switch (code) {
    case ErrorCode::kIo:
    case ErrorCode::kPermissionDenied:
    case ErrorCode::kLinkRefused:
    case ErrorCode::kTimedOut:
    case ErrorCode::kTooManyOpenFiles:
      return true;
    default:
      return false;
  }
}

class CountedObject final : public Object {
 public:
  CountedObject(std::shared_ptr<const Object> object, std::shared_ptr<StoreCounts> counts)
      : object_(std::move(object)), counts_(std::move(counts)) {}

  const ObjectInfo& info() const override { return object_->info(); }
  Result<void> Read(uint64_t offset, std::span<std::byte> out) const override {
    Result<void> read = object_->Read(offset, out);
    if (read) {
      counts_->Read(out.size());
    } else {
      counts_->Failed(read.error(), /*is_read=*/true);
    }
    return read;
  }

 private:
  const std::shared_ptr<const Object> object_;
  const std::shared_ptr<StoreCounts> counts_;
};

class CountedStore final : public Store {
 public:
  CountedStore(std::shared_ptr<const Store> store, std::shared_ptr<StoreCounts> counts)
      : store_(std::move(store)), counts_(std::move(counts)) {}

  Result<ObjectInfo> Stat(std::string_view key) const override { return Seen(store_->Stat(key)); }
  Result<ReadAnswer> Read(std::string_view key, ByteRange range,
                          std::span<std::byte> out) const override {
    Result<ReadAnswer> answer = store_->Read(key, range, out);
    if (answer) {
      counts_->Read(answer->length);
      answer->object = std::make_shared<CountedObject>(std::move(answer->object), counts_);
    } else {
      counts_->Failed(answer.error(), /*is_read=*/true);
    }
    return answer;
  }
  Result<std::vector<ListEntry>> List(std::string_view folder) const override {
    return Seen(store_->List(folder));
  }
  Result<StoreCapacity> Capacity() const override { return Seen(store_->Capacity()); }
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
  template <typename T>
  Result<T> Seen(Result<T> answer) const {
    if (!answer) counts_->Failed(answer.error(), /*is_read=*/false);
    return answer;
  }

  const std::shared_ptr<const Store> store_;
  const std::shared_ptr<StoreCounts> counts_;
};

}  // namespace

void StoreCounts::Failed(const Error& error, bool is_read) {
  if (is_read) counters_.Add(kReads);
  if (IsStoreError(error.code)) counters_.Add(kErrors);
}

std::shared_ptr<const Store> Count(std::shared_ptr<const Store> store,
                                   std::shared_ptr<StoreCounts> counts) {
  return std::make_shared<CountedStore>(std::move(store), std::move(counts));
}

}  // namespace zarrfs
