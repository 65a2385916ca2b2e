// RemoteStore: a bucket, or a folder of a web server, as a Store.
//
// A version is an ETag with size and Last-Modified. An Object requests only its own version, by
// If-Match, or without a strong ETag by If-Unmodified-Since. It also checks each response: another
// version is kStale, even if the server ignores conditions.
//
// An object is absent only if the store says so (net/verdict.h).
//
// A bucket can be listed. A web server cannot: a folder exists there if it contains one of the
// documents of a node, and OpenFolder() is kUnsupported.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "zarrcore/net/fetcher.h"
#include "zarrcore/net/remote_source.h"
#include "zarrcore/store/store.h"

namespace zarrfs {

/// Options of a RemoteStore.
struct RemoteStoreOptions {
  std::string name = {};       // see RemoteSource::name
  bool is_listed = false;      // true for a bucket
  std::string some_key = {};   // a key for checking the address if the root need not be a node
  bool never_changes = false;  // objects need neither an ETag nor Last-Modified
  uint32_t uid = 0;            // the owner of everything
  uint32_t gid = 0;
};

/// Opens a store. Sends one request, so a wrong address or key fails here: kNotFound if nothing
/// exists at the address.
[[nodiscard]] Result<std::shared_ptr<Store>> OpenRemoteStore(std::shared_ptr<const Fetcher> fetcher,
                                                             const RemoteStoreOptions& options);

/// The two steps of OpenRemoteStore(). The first sends no request. `at_once` is called while the
/// second step waits for its first answer. If `at_once` returns true, that answer is ignored, and
/// no further request is sent.
[[nodiscard]] std::shared_ptr<Store> MakeRemoteStore(std::shared_ptr<const Fetcher> fetcher,
                                                     RemoteStoreOptions options);
[[nodiscard]] Result<void> CheckRemoteStore(const Store& store, const RemoteStoreOptions& options,
                                            const std::function<bool()>& at_once);

/// A store with one object, called `file`, at the fetcher's address. options.name is the address of
/// the folder that contains it.
[[nodiscard]] std::shared_ptr<Store> MakeRemoteFile(std::shared_ptr<const Fetcher> fetcher,
                                                    RemoteStoreOptions options, std::string file);

}  // namespace zarrfs
