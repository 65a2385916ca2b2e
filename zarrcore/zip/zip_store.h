// ZipStore: a zip file as a Store. The file is an object of another store, so it may be on a disk,
// in a bucket or on a web server.
//
// Stored members (zarr-python's ZipStore, `zip -0`) are served in place: a read of a member is a
// read of a range of the file. Deflated members are inflated as a whole, in memory taken from
// ProcessMemory(), checked against their CRC, and cached. Members with other compression methods,
// encrypted members and symbolic links exist but cannot be read. (libzip is not used: to read a
// range of a deflated member it inflates everything before it, each time, has one file position for
// all threads, and takes several hundred bytes for each member.)
//
// The version, owner, mode and times of the file are those of each member: rewriting the file makes
// a new version of every member. A damaged directory is an error (kIo) of every call, a damaged
// member an error of its reads. If the file is gone, everything is kNotFound.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "zarrcore/base/result.h"
#include "zarrcore/store/store.h"
#include "zarrcore/store/validity.h"

namespace zarrfs {

/// Whether a file of this name may be a zip file: it ends in .zip or .ozx, in upper or lower case.
[[nodiscard]] bool IsZipName(std::string_view name);

/// Limit of cached inflated members, excluding the latest one that is larger.
inline constexpr uint64_t kInflatedBytes = 64u << 20;

/// Opens the zip file `key` of `container`, and reads its directory. `folder`: the folder of the
/// zip file that is the root of the store, "" for the file's own root. `max_age`: how long ago
/// `container` may have been asked whether the file has changed, if it cannot be watched; by
/// default each call asks. A read of another version fails in any case, and asks. Fails if the file
/// cannot be read, is no zip file, or is damaged; kNotFound if the file or folder does not exist.
[[nodiscard]] Result<std::shared_ptr<Store>> OpenZipStore(std::shared_ptr<const Store> container,
                                                          std::string key, std::string folder = "",
                                                          Age max_age = Age{0});

}  // namespace zarrfs
