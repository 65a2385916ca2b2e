// Stubs that replace the code that needs libcurl and pugixml, for builds without these libraries.
#ifndef ZARRFS_REMOTE

#include "zarrcore/net/fetch_server.h"
#include "zarrcore/net/fetcher_sandbox.h"
#include "zarrcore/net/listing_page.h"

namespace zarrfs {

// Never called, because ParseRemoteSource() refuses every remote source.
void RunFetchServer(const RemoteSource& /*source*/, const FetchChannel& /*channel*/,
                    std::unique_ptr<DiskCache> /*disk*/,
                    const std::function<void()>& /*on_refused*/) {}

FetcherNeeds NeedsOfFetcher(const RemoteSource& /*source*/) { return {}; }

void LoadLibrariesOfFetcher() {}

struct ReplacementWatch::State {};
ReplacementWatch::ReplacementWatch(std::vector<std::string> /*paths*/,
                                   const RemoteSource& /*source*/) {}
void ReplacementWatch::LookNow() const {}

Result<ListingPage> ParseListingPage(std::string_view /*xml*/, std::string_view folder) {
  return Fail(ErrorCode::kUnsupported, "{}: this program cannot list buckets", folder);
}

}  // namespace zarrfs

#endif
