// RemoteStore: a bucket, or a folder of a web server, as a Store.
//
// A version is an ETag with size and Last-Modified. An Object requests only its own version: by
// If-Match, or if its ETag is not strong, by If-Unmodified-Since. The Object also checks each
// response. Another version is kStale, even if the server ignores conditions.
//
// An object is absent only if the store says so (net/verdict.h).
//
// A bucket can be listed. A web server cannot be listed, so OpenFolder() is kUnsupported, and a
// folder exists if it contains one of the documents of a node.
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
  std::string some_key = {};   // if set, opening the store checks this key, not the root
  bool never_changes = false;  // if true, objects without ETag and Last-Modified are accepted
  uint32_t uid = 0;            // the owner of all objects and folders
  uint32_t gid = 0;
};

/// Opens a store. Sends one request, so a wrong address or key fails here: kNotFound if nothing
/// exists at the address.
[[nodiscard]] Result<std::shared_ptr<Store>> OpenRemoteStore(std::shared_ptr<const Fetcher> fetcher,
                                                             const RemoteStoreOptions& options);

/// The two steps of OpenRemoteStore(). MakeRemoteStore() sends no request. CheckRemoteStore() calls
/// `at_once` while it waits for the answer to its first request. If `at_once` returns true, the
/// store needs no further check: the answer is ignored, and no other request is sent.
[[nodiscard]] std::shared_ptr<Store> MakeRemoteStore(std::shared_ptr<const Fetcher> fetcher,
                                                     RemoteStoreOptions options);
[[nodiscard]] Result<void> CheckRemoteStore(const Store& store, const RemoteStoreOptions& options,
                                            const std::function<bool()>& at_once);

/// A store with one object, called `file`, at the fetcher's address. options.name is the address of
/// the folder that contains the object.
[[nodiscard]] std::shared_ptr<Store> MakeRemoteFile(std::shared_ptr<const Fetcher> fetcher,
                                                    RemoteStoreOptions options, std::string file);

}  // namespace zarrfs
