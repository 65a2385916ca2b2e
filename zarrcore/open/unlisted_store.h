// UnlistedStore: lists a store that cannot list its folders (a web server).
//
// What is in a folder is known
//   - from a list of all keys, if there is one: all of it;
//   - else, of a group, from the consolidated metadata of the root: the nodes below it;
//   - else, of a group of OME-Zarr, from what it says itself: its images, labels, wells, fields;
//   - else, of an array, by asking for each object of its grid, many at once, if these are not too
//     many.
// What is part of the path of any of these nodes is a folder: a row of a plate has no document.
// Anything else is kUnsupported, with a message that names the option `list`: a listing is whole or
// fails.
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

/// Reads a file of keys, one a line, relative to the root of the store, as `find -type f` writes
/// them. kInvalidArgument, with the line, for what is no key; kTooLarge beyond 256 MiB.
/// `opened`: the file, where it is open already; its position does not matter.
[[nodiscard]] Result<KeyList> ReadKeyList(const std::string& path, const Descriptor& opened = {});

struct UnlistedStoreOptions {
  std::optional<KeyList> keys;   // all that there are
  uint64_t max_probes = 10'000;  // objects of an array that are asked for
  uint64_t probes_at_once = 32;
};

[[nodiscard]] std::shared_ptr<Store> ListUnlisted(std::shared_ptr<Store> store,
                                                  UnlistedStoreOptions options);

}  // namespace zarrfs
