// RemoteStore: a bucket, or a folder of a web server, as a Store.
//
// A version is an ETag with size and Last-Modified. An Object requests its version only (If-Match;
// without a strong ETag If-Unmodified-Since), and compares each response: another version is
// kStale, even if the server ignores conditions.
//
// An object is absent only if the store says so (net/verdict.h).
//
// A bucket is listed. A web server cannot be: a folder exists there if it contains one of the
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
  std::string name = {};       // RemoteSource::name
  bool is_listed = false;      // a bucket
  std::string some_key = {};   // that should exist if the root need not be a node
  bool never_changes = false;  // objects need neither an ETag nor Last-Modified
  uint32_t uid = 0;            // shown as the owner of everything
  uint32_t gid = 0;
};

/// Sends one request to the store, so that a wrong address or key fails here: kNotFound if nothing
/// exists at the address.
[[nodiscard]] Result<std::shared_ptr<Store>> OpenRemoteStore(std::shared_ptr<const Fetcher> fetcher,
                                                             RemoteStoreOptions options);

/// OpenRemoteStore() in two steps, the first of which sends no request. `at_once` is called while
/// the second waits for its first answer, which is ignored if `at_once` returns true.
[[nodiscard]] std::shared_ptr<Store> MakeRemoteStore(std::shared_ptr<const Fetcher> fetcher,
                                                     RemoteStoreOptions options);
[[nodiscard]] Result<void> CheckRemoteStore(const Store& store, const RemoteStoreOptions& options,
                                            const std::function<bool()>& at_once);

/// A store with the one object at the fetcher's address, named `file`. options.name is the address
/// of the folder that contains it.
[[nodiscard]] std::shared_ptr<Store> MakeRemoteFile(std::shared_ptr<const Fetcher> fetcher,
                                                    RemoteStoreOptions options, std::string file);

}  // namespace zarrfs
