// ZipStore: a zip file as a Store. The file is an object of another store, so it may be on a disk,
// in a bucket or on a web server.
//
// Stored members, as written by zarr-python's ZipStore and `zip -0`, are served in place: a read of
// a member is a read of a range of the file. Deflated members are inflated as a whole, in memory
// reserved from ProcessMemory(), checked against their CRC, and cached. Members with other
// compression methods, encrypted members and symbolic links exist but cannot be read. libzip is not
// used because it has one file position for all threads, takes several hundred bytes per member,
// and for each range of a deflated member inflates everything before it.
//
// Every member has the owner, mode and times of the file, and a version derived from that of the
// file, so rewriting the file changes the version of every member. If the directory is damaged,
// every call fails with kIo. If a member is damaged, its reads fail. If the file no longer exists,
// every call fails with kNotFound.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "zarrcore/base/result.h"
#include "zarrcore/store/store.h"
#include "zarrcore/store/validity.h"

namespace zarrfs {

/// True if the name ends in .zip or .ozx, in upper or lower case.
[[nodiscard]] bool IsZipName(std::string_view name);

/// Capacity of the cache of inflated members, in bytes. One member larger than this may be cached,
/// too.
inline constexpr uint64_t kInflatedBytes = 64u << 20;

/// Opens the zip file `key` of `container`, and reads its directory. `folder`: the folder in the
/// zip file that becomes the root of the store; "" for the archive's root. `max_age`: if the file
/// cannot be watched, how long after a check the file is assumed to be unchanged; by default, each
/// call checks the file. If a read finds that the file was replaced, the read is repeated with the
/// new version. Fails if the file cannot be read, is not a zip file, or is damaged; kNotFound if
/// the file or folder does not exist.
[[nodiscard]] Result<std::shared_ptr<Store>> OpenZipStore(std::shared_ptr<const Store> container,
                                                          std::string key, std::string folder = "",
                                                          Age max_age = Age{0});

}  // namespace zarrfs
