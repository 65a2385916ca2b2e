#include "zarrcore/store/counted_store.h"

#include <utility>

#include "zarrcore/store/forwarding_store.h"

namespace zarrfs {
namespace {

// Whether the store failed to answer; "not found" and "stale" are answers.
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

class CountedObject final : public ForwardingObject {
 public:
  CountedObject(std::shared_ptr<const Object> object, std::shared_ptr<StoreCounts> counts)
      : ForwardingObject(std::move(object)), counts_(std::move(counts)) {}

  Result<void> Read(uint64_t offset, std::span<std::byte> out) const override {
    Result<void> read = ForwardingObject::Read(offset, out);
    if (read) {
      counts_->Read(out.size());
    } else {
      counts_->Failed(read.error(), /*is_read=*/true);
    }
    return read;
  }

 private:
  const std::shared_ptr<StoreCounts> counts_;
};

class CountedFolderStream final : public ForwardingFolderStream {
 public:
  CountedFolderStream(std::unique_ptr<FolderStream> stream, std::shared_ptr<StoreCounts> counts)
      : ForwardingFolderStream(std::move(stream)), counts_(std::move(counts)) {}

  Result<std::vector<ListEntry>> Next(size_t count) override {
    auto names = ForwardingFolderStream::Next(count);
    if (!names) counts_->Failed(names.error(), /*is_read=*/false);
    return names;
  }

 private:
  const std::shared_ptr<StoreCounts> counts_;
};

class CountedStore final : public ForwardingStore {
 public:
  CountedStore(std::shared_ptr<const Store> store, std::shared_ptr<StoreCounts> counts)
      : ForwardingStore(std::move(store)), counts_(std::move(counts)) {}

  Result<ObjectInfo> Stat(std::string_view key) const override {
    return Counted(ForwardingStore::Stat(key));
  }
  Result<ReadAnswer> Read(std::string_view key, ByteRange range,
                          std::span<std::byte> out) const override {
    Result<ReadAnswer> answer = ForwardingStore::Read(key, range, out);
    if (answer) {
      counts_->Read(answer->length);
      answer->object = std::make_shared<CountedObject>(std::move(answer->object), counts_);
    } else {
      counts_->Failed(answer.error(), /*is_read=*/true);
    }
    return answer;
  }
  Result<std::unique_ptr<FolderStream>> OpenFolder(std::string_view folder) const override {
    auto stream = Counted(ForwardingStore::OpenFolder(folder));
    if (stream) stream = std::make_unique<CountedFolderStream>(*std::move(stream), counts_);
    return stream;
  }
  Result<StoreCapacity> Capacity() const override { return Counted(ForwardingStore::Capacity()); }

 private:
  template <typename T>
  Result<T> Counted(Result<T> answer) const {
    if (!answer) counts_->Failed(answer.error(), /*is_read=*/false);
    return answer;
  }

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
