// The process that asks for objects: it alone has the network, names of hosts, certificates and
// credentials, and does what a FetchClient asks (net/fetch_channel.h).
//
// It asks for keys below the store's own address and for nothing else, so that a client that obeys
// somebody else can read the store and no more.
//
// An attempt that fails for a reason that may pass (no connection, a stall, a cut answer, 429, 5xx)
// is repeated after a pause that grows and is drawn at random, until `timeout` has passed.
#pragma once

#include <memory>

#include "zarrcore/disk/disk_cache.h"
#include "zarrcore/net/fetch_channel.h"
#include "zarrcore/net/remote_source.h"

namespace zarrfs {

/// Serves until the other end of the channel is closed by everybody who has it. `disk`: null if
/// nothing is kept. One thread, in addition to those of Credentials and of a DiskQueue.
void RunFetchServer(const RemoteSource& source, const FetchChannel& channel,
                    std::unique_ptr<DiskCache> disk = nullptr);

}  // namespace zarrfs
