#include "zarrcore/open/fetched_store.h"

#include <chrono>
#include <utility>

#include "zarrcore/net/fetch_client.h"
#include "zarrcore/open/unlisted_store.h"
#include "zarrcore/zip/zip_store.h"

namespace zarrfs {
namespace {

// How much longer than the fetcher its client waits: another fetcher may have to be started.
constexpr auto kFetcherStart = std::chrono::seconds(10);

}  // namespace

Result<std::shared_ptr<Store>> OpenFetchedStore(const std::string& source,
                                                const RemoteOptions& options, Descriptor socket,
                                                const Descriptor& memory, RemoteStoreOptions shown,
                                                Age max_age) {
  UnlistedStoreOptions unlisted{.keys = std::nullopt, .max_probes = options.list_max};
  shown.name = source;
  shown.is_listed = source.starts_with("s3://");
  if (!shown.is_listed && !options.list_file.empty()) {
    auto keys = ReadKeyList(options.list_file);
    if (!keys) return Fail(keys);
    unlisted.keys = *std::move(keys);
    shown.some_key = unlisted.keys->front();
  }
  auto fetcher = OpenFetchClient(std::move(socket), memory,
                                 std::chrono::seconds(options.timeout) + kFetcherStart);
  if (!fetcher) return Fail(fetcher);
  if (auto zip = FindZipAddress(source)) {
    shown.name = zip->folder;
    if (shown.never_changes) max_age = kAnyAge;
    auto file = MakeRemoteFile(*std::move(fetcher), std::move(shown), zip->name);
    return OpenZipStore(std::move(file), zip->name, zip->below, max_age);
  }
  const bool is_listed = shown.is_listed;
  auto store = OpenRemoteStore(*std::move(fetcher), std::move(shown));
  if (!store || is_listed) return store;
  return ListUnlisted(*std::move(store), std::move(unlisted));
}

}  // namespace zarrfs
