// RemoteStore: a bucket, or a folder of a web server, as a Store.
//
// A version is an ETag with size and Last-Modified. An Object asks for its version alone (If-Match;
// without a strong ETag If-Unmodified-Since), and compares what each answer says: another version
// is kStale, whatever the server makes of conditions.
//
// Only a store that says so makes an object absent (net/verdict.h).
//
// A bucket is listed. A web server cannot be: there a folder exists if one of the documents of a
// node does in it, and OpenFolder() is kUnsupported.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "zarrcore/net/fetcher.h"
#include "zarrcore/net/remote_source.h"
#include "zarrcore/store/store.h"

namespace zarrfs {

/// What the store is to know beside the Fetcher.
struct RemoteStoreOptions {
  std::string name = {};       // RemoteSource::name
  bool is_listed = false;      // a bucket
  std::string some_key = {};   // that there should be, where the root need be no node
  bool never_changes = false;  // then objects need neither an ETag nor Last-Modified
  uint32_t uid = 0;            // who owns everything, as files show it
  uint32_t gid = 0;
};

/// Asks for the store once, so that a wrong address or key is an error here: kNotFound if there is
/// nothing at all at the address.
[[nodiscard]] Result<std::shared_ptr<Store>> OpenRemoteStore(std::shared_ptr<const Fetcher> fetcher,
                                                             RemoteStoreOptions options);

/// The same in two steps, of which the first asks for nothing. `at_once` is called while the second
/// waits for its first answer, which is of no account if it returns true.
[[nodiscard]] std::shared_ptr<Store> MakeRemoteStore(std::shared_ptr<const Fetcher> fetcher,
                                                     RemoteStoreOptions options);
[[nodiscard]] Result<void> CheckRemoteStore(const Store& store, const RemoteStoreOptions& options,
                                            const std::function<bool()>& at_once);

/// A store of the one object at the address that `fetcher` asks for, by the name `file`.
/// options.name is the address of the folder that it is in.
[[nodiscard]] std::shared_ptr<Store> MakeRemoteFile(std::shared_ptr<const Fetcher> fetcher,
                                                    RemoteStoreOptions options, std::string file);

}  // namespace zarrfs
