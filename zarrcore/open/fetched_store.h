// Opens a store in a bucket or on a web server, in a process that has no network itself.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "zarrcore/base/result.h"
#include "zarrcore/net/remote_source.h"
#include "zarrcore/net/remote_store.h"
#include "zarrcore/os/descriptor.h"
#include "zarrcore/store/store.h"
#include "zarrcore/store/validity.h"

namespace zarrfs {

/// How long ago a server may have been asked whether a zip file has changed.
inline constexpr Age kZipAge = std::chrono::milliseconds(500);

/// `socket`, `memory`: of the FetchChannel to the process that fetches `source`. Of `shown`, name
/// and is_listed are set here. `max_age`: of OpenZipStore(). Reads options.list_file. Starts a
/// thread.
[[nodiscard]] Result<std::shared_ptr<Store>> OpenFetchedStore(
    const std::string& source, const RemoteOptions& options, Descriptor socket,
    const Descriptor& memory, RemoteStoreOptions shown, Age max_age = kZipAge);

}  // namespace zarrfs
