#include "zarrcore/store/gated_store.h"

#include <utility>

#include "zarrcore/base/waiting.h"
#include "zarrcore/store/forwarding_store.h"

namespace zarrfs {
namespace {

struct ThroughGate {
  template <typename Call>
  auto operator()(Call call) const -> decltype(call()) {
    if (!MayWait()) return Fail(ErrorCode::kWouldBlock, "the store may take a while to answer");
    if (IsAbandoned()) return Fail(ErrorCode::kWouldBlock, "the request was abandoned");
    return call();
  }
  template <typename Call, typename BytesOf>
  auto Read(Call call, BytesOf /*bytes_of*/) const {
    return (*this)(call);
  }
};

class GatedStore final : public ThroughStore<ThroughGate> {
 public:
  using ThroughStore::ThroughStore;
  uint64_t Watch(std::string_view folder) const override {
    return MayWait() ? ThroughStore::Watch(folder) : 0;
  }
  uint64_t WatchAllNames(std::string_view folder) const override {
    return MayWait() ? ThroughStore::WatchAllNames(folder) : 0;
  }
};

}  // namespace

std::shared_ptr<const Store> Gate(std::shared_ptr<const Store> store) {
  return std::make_shared<GatedStore>(std::move(store));
}

}  // namespace zarrfs
