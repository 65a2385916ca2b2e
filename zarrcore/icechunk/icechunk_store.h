// IcechunkStore: one commit of an Icechunk repository, or the newest commit of a branch, as a
// Store. The repository is the root of another store, so it may be in a folder, a zip file, a
// bucket or on a web server.
//
//   a/zarr.json   the document of the node in the snapshot
//   a/c/0/1       the chunk (or shard) that the manifest names for these coordinates
//
// A chunk is absent if no manifest names it. If a manifest names a chunk but its object is missing
// (expired, collected), reading it is an error (kIo). A virtual chunk, which is outside the
// repository, is also an error unless its file may be read (virtual_chunks.h). If the snapshot is
// damaged, every call fails; if a manifest is damaged, calls about the chunks of its arrays fail.
//
// Owner, mode and times are those of the object that contains the bytes: the snapshot for documents
// and folders, the manifest for inline chunks. In a slow store, where this would need a request for
// each chunk, chunks have the time of the repository's first snapshot.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "zarrcore/base/result.h"
#include "zarrcore/icechunk/repository.h"
#include "zarrcore/icechunk/virtual_chunks.h"
#include "zarrcore/icechunk/virtual_folders.h"
#include "zarrcore/store/store.h"
#include "zarrcore/store/validity.h"

namespace zarrfs {

/// The capacity of the cache of packed manifests, in bytes. One manifest larger than this, the
/// latest, is also cached.
inline constexpr uint64_t kManifestBytes = 256u << 20;

/// Opens the repository at the root of `container`. Until StartWatching() is called, `max_age` is
/// the maximum time since the branch was looked up; by default each call looks it up. Afterwards
/// the branch is followed (follower.h), and `period` is how often its pointer is checked. Fails if
/// the commit cannot be found or read. A store of a tag or snapshot never changes, except for
/// virtual chunks, which are read through `virtual_chunks` if that is not null.
[[nodiscard]] Result<std::shared_ptr<Store>> OpenIcechunkStore(
    const std::shared_ptr<const Store>& container, IcechunkAt at, Age max_age = Age{0},
    Age period = std::chrono::seconds(1),
    std::shared_ptr<const IcechunkVirtualChunks> virtual_chunks = nullptr);

/// Opens the commit `at` without looking it up: `pointer` is what LookForIcechunk() found for it.
/// Otherwise like the overload above.
[[nodiscard]] Result<std::shared_ptr<Store>> OpenIcechunkStore(
    const std::shared_ptr<const Store>& container, IcechunkAt at, IcechunkPointer pointer,
    Age max_age, Age period, std::shared_ptr<const IcechunkVirtualChunks> virtual_chunks = nullptr);

/// The store that contains the repository; null if `store` does not read an Icechunk repository.
[[nodiscard]] std::shared_ptr<const Store> IcechunkContainerOf(const Store& store);

/// Returns the folders that contain the virtual chunks of the store's commit; none if `store` does
/// not read an Icechunk repository. Returns the errors of FindVirtualFolders(), and kNotFound if
/// `store` has all commits (all_commits.h).
[[nodiscard]] Result<VirtualFolders> IcechunkVirtualFoldersOf(const Store& store);

/// The object of the repository that contains the bytes of a chunk, and the offset in the object.
struct IcechunkPlace {
  std::string key;
  uint64_t offset = 0;
};
/// Finds the object that contains the chunk `key`. kNotFound if `key` is absent or not a chunk;
/// kUnsupported, with the location, for an inline or virtual chunk; kInvalidArgument if `store`
/// does not read an Icechunk repository.
[[nodiscard]] Result<IcechunkPlace> IcechunkPlaceOf(const Store& store, std::string_view key);

}  // namespace zarrfs
