// KeyList: all keys of a store that cannot list its folders. NamesIn() makes the listing of a
// folder from a KeyList.
#pragma once

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
/// writes them. Empty lines and a leading "./" are ignored. kInvalidArgument, with the line, for an
/// invalid key; kTooLarge if the file exceeds 256 MiB; kIo if it has no keys or cannot be read.
/// `opened`: the file, if it is already open; its position does not matter.
[[nodiscard]] Result<KeyList> ReadKeyList(const std::string& path, const Descriptor& opened = {});

/// Returns the names directly below `folder`; nullopt if no key is below `folder`.
[[nodiscard]] std::optional<std::vector<ListEntry>> NamesIn(const KeyList& keys,
                                                            std::string_view folder);

/// True if `key` may name a folder. False for keys of documents such as zarr.json and .zarray,
/// which are looked up most often.
[[nodiscard]] bool MayBeFolder(std::string_view key);

/// True if `name` may be a folder of chunks inside an array: "c", or digits only.
[[nodiscard]] bool MayBeOfChunks(std::string_view name);

}  // namespace zarrfs
