// ObjectWatch: change notifications for a store that is made from one object of another store (the
// container), such as a zip file in a folder. A change of the object changes everything in the
// store made from it; other changes in the container are ignored.
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

/// Watches one object of a container. Thread-safe.
class ObjectWatch {
 public:
  /// Starts watching the object `key` of `container`. Otherwise like Store::StartWatching().
  [[nodiscard]] Result<void> Start(const Store& container, std::string key, ChangeListener listener,
                                   std::function<void(std::string_view)> report) const;

  /// Like Store::change_count().
  [[nodiscard]] uint64_t count(const Store& container) const {
    return container.change_count() == 0 ? 0 : count_->load();
  }

 private:
  // Shared, because the listener may outlive this object.
  const std::shared_ptr<std::atomic<uint64_t>> count_ = std::make_shared<std::atomic<uint64_t>>(1);
};

}  // namespace zarrfs
