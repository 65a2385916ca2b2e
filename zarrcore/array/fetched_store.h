// Opens a store in a bucket or on a web server, in a process that has no network itself.
#pragma once

#include <memory>
#include <string>

#include "zarrcore/base/descriptor.h"
#include "zarrcore/base/result.h"
#include "zarrcore/net/remote_source.h"
#include "zarrcore/net/remote_store.h"
#include "zarrcore/store/store.h"

namespace zarrfs {

/// `socket`, `memory`: of the FetchChannel to the process that fetches `source`. Of `shown`, name
/// and is_listed are set here. Reads options.list_file. Starts a thread.
[[nodiscard]] Result<std::shared_ptr<Store>> OpenFetchedStore(const std::string& source,
                                                              const RemoteOptions& options,
                                                              Descriptor socket,
                                                              const Descriptor& memory,
                                                              RemoteStoreOptions shown);

}  // namespace zarrfs
