// ObjectWatch: change notifications for a store that is made from one object of another store, its
// container, such as a zip file. A change to that object changes everything in the store; other
// changes in the container do not matter.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "zarrcore/base/result.h"
#include "zarrcore/store/store.h"

namespace zarrfs {

/// Thread-safe.
class ObjectWatch {
 public:
  /// As Store::StartWatching; `key`: of the object in `container`.
  [[nodiscard]] Result<void> Start(const Store& container, std::string key, ChangeListener listener,
                                   std::function<void(std::string_view)> report) const;

  /// As Store::change_count.
  [[nodiscard]] uint64_t count(const Store& container) const {
    return container.change_count() == 0 ? 0 : count_->load();
  }

 private:
  // The listener may outlive this.
  const std::shared_ptr<std::atomic<uint64_t>> count_ = std::make_shared<std::atomic<uint64_t>>(1);
};

}  // namespace zarrfs
