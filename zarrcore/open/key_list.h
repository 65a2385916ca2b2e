// KeyList: all keys of a store that cannot list its folders. NamesIn() lists a folder from them.
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

/// The names directly below `folder`; nullopt if no key is below it.
[[nodiscard]] std::optional<std::vector<ListEntry>> NamesIn(const KeyList& keys,
                                                            std::string_view folder);

/// True if the key may be a folder. False for names of documents, which are the most frequent keys.
[[nodiscard]] bool MayBeFolder(std::string_view key);

/// True if a folder of chunks in the folder of an array can be called `name`: "c", or a number.
[[nodiscard]] bool MayBeOfChunks(std::string_view name);

}  // namespace zarrfs
