// GatedStore: wraps a store so that its calls, reads and listings fail at once with
// kWouldBlock on a thread that may not wait (zarrcore/base/waiting.h).
#ifndef ZARRCORE_STORE_GATED_STORE_H_
#define ZARRCORE_STORE_GATED_STORE_H_

#include <memory>

#include "zarrcore/store/store.h"

namespace zarrfs {

/// Wraps `store`, unless it answers fast: then nothing needs gating.
[[nodiscard]] std::shared_ptr<const Store> Gate(std::shared_ptr<const Store> store);

}  // namespace zarrfs

#endif  // ZARRCORE_STORE_GATED_STORE_H_
