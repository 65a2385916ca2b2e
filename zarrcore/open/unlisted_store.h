// UnlistedStore: lists a store that cannot list its folders, such as a web server.
//
// The contents of a folder come from the first of these sources that applies:
//   - a list of all keys, if one is given; it must be complete;
//   - for a group, the consolidated metadata of the root: the nodes below the group;
//   - for an OME-Zarr group, its own metadata: its images, labels, wells and fields;
//   - for an array, concurrent requests for each object of its grid, up to a limit.
// Each component of the path of these nodes is a folder; for example, the row of a plate has no
// document of its own. Listings of other folders fail with kUnsupported and a message that names
// the option `list`, because a listing must be complete.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "zarrcore/base/result.h"
#include "zarrcore/os/descriptor.h"
#include "zarrcore/store/store.h"

namespace zarrfs {

/// The keys of a store, sorted.
using KeyList = std::vector<std::string>;

/// Reads a file of keys, one per line and relative to the root of the store, as `find -type f`
/// writes them. kInvalidArgument, with the line, for an invalid key; kTooLarge if it exceeds 256
/// MiB. `opened`: the file, if it is already open; its position does not matter.
[[nodiscard]] Result<KeyList> ReadKeyList(const std::string& path, const Descriptor& opened = {});

struct UnlistedStoreOptions {
  std::optional<KeyList> keys;   // all keys of the store
  uint64_t max_probes = 10'000;  // the maximum number of objects that are requested for an array
  uint64_t probes_at_once = 32;
};

[[nodiscard]] std::shared_ptr<Store> ListUnlisted(std::shared_ptr<Store> store,
                                                  UnlistedStoreOptions options);

}  // namespace zarrfs
