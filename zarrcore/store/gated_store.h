// GatedStore: another store, whose every call (and every read of its objects) fails at once with
// kWouldBlock on a thread that may not wait (zarrcore/base/waiting.h).
#ifndef ZARRCORE_STORE_GATED_STORE_H_
#define ZARRCORE_STORE_GATED_STORE_H_

#include <memory>

#include "zarrcore/store/store.h"

namespace zarrfs {

/// `store` itself if it answers fast: nothing needs gating then.
[[nodiscard]] std::shared_ptr<const Store> Gate(std::shared_ptr<const Store> store);

}  // namespace zarrfs

#endif  // ZARRCORE_STORE_GATED_STORE_H_
