#include "zarrcore/store/gated_store.h"

#include <utility>

#include "zarrcore/base/waiting.h"
#include "zarrcore/store/forwarding_store.h"

namespace zarrfs {
namespace {

tl::unexpected<Error> WouldBlock() {
  return Fail(ErrorCode::kWouldBlock, "the store may take a while to answer");
}

class GatedObject final : public ForwardingObject {
 public:
  using ForwardingObject::ForwardingObject;
  Result<void> Read(uint64_t offset, std::span<std::byte> out) const override {
    if (!MayWait()) return WouldBlock();
    return ForwardingObject::Read(offset, out);
  }
};

class GatedFolderStream final : public ForwardingFolderStream {
 public:
  using ForwardingFolderStream::ForwardingFolderStream;
  Result<std::vector<ListEntry>> Next(size_t count) override {
    if (!MayWait()) return WouldBlock();
    return ForwardingFolderStream::Next(count);
  }
};

class GatedStore final : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;

  Result<ObjectInfo> Stat(std::string_view key) const override {
    if (!MayWait()) return WouldBlock();
    return ForwardingStore::Stat(key);
  }
  Result<ReadAnswer> Read(std::string_view key, ByteRange range,
                          std::span<std::byte> out) const override {
    if (!MayWait()) return WouldBlock();
    Result<ReadAnswer> answer = ForwardingStore::Read(key, range, out);
    if (answer) answer->object = std::make_shared<GatedObject>(std::move(answer->object));
    return answer;
  }
  Result<std::unique_ptr<FolderStream>> OpenFolder(std::string_view folder) const override {
    if (!MayWait()) return WouldBlock();
    auto stream = ForwardingStore::OpenFolder(folder);
    if (stream) stream = std::make_unique<GatedFolderStream>(*std::move(stream));
    return stream;
  }
  Result<StoreCapacity> Capacity() const override {
    if (!MayWait()) return WouldBlock();
    return ForwardingStore::Capacity();
  }
  uint64_t Watch(std::string_view folder) const override {
    return MayWait() ? ForwardingStore::Watch(folder) : 0;
  }
  bool AnswersFast() const override { return false; }
};

}  // namespace

std::shared_ptr<const Store> Gate(std::shared_ptr<const Store> store) {
  if (store->AnswersFast()) return store;
  return std::make_shared<GatedStore>(std::move(store));
}

}  // namespace zarrfs
