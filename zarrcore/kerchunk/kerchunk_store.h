// KerchunkStore: a kerchunk reference set (a JSON file, fsspec's format) as a Store. Each key of
// the set is an object: bytes in the set itself, or all or part of another file. Other files are
// read only below the prefixes that the user names (virtual_prefix.h).
//
// An object in the set has the version, owner, mode and times of the JSON file. An object in
// another file has those of that file, so its version changes when the file changes. If that file
// is missing, the object exists, but Stat() and reads fail, never with kNotFound. If that file must
// not be read, reads fail with kUnsupported; Stat() fails only for a reference to a whole file.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "zarrcore/base/result.h"
#include "zarrcore/icechunk/virtual_chunks.h"
#include "zarrcore/icechunk/virtual_folders.h"
#include "zarrcore/store/store.h"
#include "zarrcore/store/validity.h"

namespace zarrfs {

/// True if the name ends in .json and is not that of a Zarr document, so the file may be a
/// reference set.
[[nodiscard]] bool IsReferenceSetName(std::string_view name);

/// Opens the reference set in the JSON file `key` of `container`. If `virtual_chunks` is null, no
/// other file can be read. `max_age`: see StoreInFile. Returns the errors of
/// KerchunkReferenceSet::Read(), but kIo instead of kDamaged.
[[nodiscard]] Result<std::shared_ptr<Store>> OpenKerchunkStore(
    std::shared_ptr<const Store> container, std::string key,
    std::shared_ptr<const IcechunkVirtualChunks> virtual_chunks = nullptr, Age max_age = Age{0});

/// Returns the folders of the files to which the references of a kerchunk store refer, like
/// FindVirtualFolders(). Returns no folders for any other store.
[[nodiscard]] Result<VirtualFolders> KerchunkVirtualFoldersOf(const Store& store);

}  // namespace zarrfs
