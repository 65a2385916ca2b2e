// GatedStore: wraps a store so that its calls, reads and listings fail immediately with kWouldBlock
// on a thread that may not wait, or whose work was abandoned (zarrcore/base/waiting.h).
#pragma once

#include <memory>

#include "zarrcore/store/store.h"

namespace zarrfs {

[[nodiscard]] std::shared_ptr<const Store> Gate(std::shared_ptr<const Store> store);

}  // namespace zarrfs
