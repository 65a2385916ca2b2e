// ZipStore: a zip file as a Store. The file is an object of another store, so it may be on a disk
// or wherever else a range of bytes can be read.
//
// Members that are stored as they are (zarr-python's ZipStore, `zip -0`) are served by range, in
// place: a read of a member is a read of the file. Deflated members are inflated as a whole, in
// memory taken from ProcessMemory(), checked by their CRC, and kept for a while. Other methods of
// compression, encrypted members and symbolic links are there and cannot be read. (libzip is not
// used: it reads a range of a deflated member by inflating all before it, each time, has one
// position in the file for all threads, and takes several hundred bytes for each member.)
//
// The version of the file is that of each member: a file that is written again is a new version of
// everything in it. Its owner, mode and times are those of all members, too. A damaged directory is
// an error (kIo) of every call, a damaged member one of its reads. A file that is gone leaves
// nothing: kNotFound.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "zarrcore/base/result.h"
#include "zarrcore/store/store.h"
#include "zarrcore/store/validity.h"

namespace zarrfs {

/// Whether a file of this name may be a zip file: ends in .zip or .ozx, in any case.
[[nodiscard]] bool IsZipName(std::string_view name);

/// Inflated members that are kept; beyond that, the latest one that is larger.
inline constexpr uint64_t kInflatedBytes = 64u << 20;

/// Opens the zip file `key` of `container`, and reads its directory. `folder`: the root of the
/// store is this folder of the zip file, "" for the file's own. `max_age`: how long ago `container`
/// may have been asked whether the file has changed, where it cannot be watched (a read of another
/// version fails all the same, and asks); each call asks by default. Fails if the file cannot be
/// read, is no zip file, or is damaged; kNotFound if there is no such file or folder.
[[nodiscard]] Result<std::shared_ptr<Store>> OpenZipStore(std::shared_ptr<const Store> container,
                                                          std::string key, std::string folder = "",
                                                          Age max_age = Age{0});

}  // namespace zarrfs
