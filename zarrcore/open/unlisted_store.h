// UnlistedStore: lists a store that cannot list its folders, such as a web server.
//
// The contents of a folder come from the first of these sources that applies:
//   - a list of all keys, if one is given; the list must be complete;
//   - for a group, the consolidated metadata of the root: the nodes below the group;
//   - for an OME-Zarr group, its own metadata: its images, labels, wells and fields;
//   - for an array, concurrent requests for each object of its grid, up to a limit.
// Each component of the paths of these nodes is a folder, even without a document of its own, such
// as the row of a plate. Listings of other folders fail with kUnsupported and a message that names
// the option `list`, because a listing must be complete.
//
// The keys of an array's existing objects are cached for one second. The names in the metadata of a
// group are cached for ten seconds, or for one second if it has none. A lock is held while the
// objects of an array are requested, on up to probes_at_once threads, so concurrent listings wait
// and share the result.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "zarrcore/open/key_list.h"
#include "zarrcore/store/store.h"

namespace zarrfs {

struct UnlistedStoreOptions {
  std::optional<KeyList> keys;   // all keys of the store
  uint64_t max_probes = 10'000;  // the maximum number of objects that are requested for an array
  uint64_t probes_at_once = 32;
};

[[nodiscard]] std::shared_ptr<Store> ListUnlisted(std::shared_ptr<Store> store,
                                                  UnlistedStoreOptions options);

}  // namespace zarrfs
