// FetchServer: the process that fetches objects. Only this process has the network, resolver,
// certificates and credentials. It serves the requests of a FetchClient (net/fetch_channel.h).
//
// FetchServer requests only keys below the store's own address and below the prefixes of virtual=,
// which a client names by number. So a compromised client can read these keys and nothing else.
//
// FetchPolicy (fetch_policy.h) decides when requests are sent and repeated, and what replies mean.
#pragma once

#include <functional>
#include <memory>

#include "zarrcore/disk/disk_cache.h"
#include "zarrcore/net/fetch_channel.h"
#include "zarrcore/net/remote_source.h"

namespace zarrfs {

/// Serves requests until all copies of the other end of the channel are closed. `disk`: null to
/// cache nothing on disk. `on_refused`: called before a request fails because the store answered
/// 401 or 403. It may end the process; the client then sends the request to the next server. Uses
/// the calling thread. Credentials and DiskQueue start threads of their own.
void RunFetchServer(const RemoteSource& source, const FetchChannel& channel,
                    std::unique_ptr<DiskCache> disk = nullptr,
                    const std::function<void()>& on_refused = {});

}  // namespace zarrfs
