// The process that fetches objects: it alone has the network, resolver, certificates and
// credentials, and serves the requests of a FetchClient (net/fetch_channel.h).
//
// It asks only for keys below the store's own address, so a compromised client can read the store
// and nothing else.
//
// An attempt that fails for a transient reason (no connection, a stall, a truncated response, 429,
// 5xx) is repeated after a growing random pause, until `timeout` has passed.
#pragma once

#include <memory>

#include "zarrcore/disk/disk_cache.h"
#include "zarrcore/net/fetch_channel.h"
#include "zarrcore/net/remote_source.h"

namespace zarrfs {

/// Serves until everybody has closed the other end of the channel. `disk`: null to keep nothing.
/// Runs on this thread, in addition to those of Credentials and of a DiskQueue.
void RunFetchServer(const RemoteSource& source, const FetchChannel& channel,
                    std::unique_ptr<DiskCache> disk = nullptr);

}  // namespace zarrfs
