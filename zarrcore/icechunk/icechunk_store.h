// IcechunkStore: one commit of an Icechunk repository, or the newest one of a branch, as a Store.
// The repository is the root of another store, so it may be in a folder, a zip file, or wherever
// else objects can be read.
//
//   a/zarr.json   the document of the node, as the snapshot has it
//   a/c/0/1       the chunk (or shard) that the manifest names for these coordinates
//
// A chunk is absent if no manifest names it, which is a fact. A chunk that is named and whose
// object is missing (expired, collected) is an error (kIo), and so is a virtual chunk, which lies
// outside the repository (kUnsupported). A damaged snapshot is an error of every call, a damaged
// manifest one of its arrays' chunks.
//
// Owner, mode and times are those of the object that holds the bytes: of the snapshot for documents
// and folders, of the manifest for inline chunks. On a slow store, where that would be a request
// for each chunk, chunks have the time of the repository's first snapshot.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "zarrcore/base/result.h"
#include "zarrcore/icechunk/repository.h"
#include "zarrcore/store/store.h"
#include "zarrcore/store/validity.h"

namespace zarrfs {

/// Packed manifests that are kept; beyond that, the latest one that is larger.
inline constexpr uint64_t kManifestBytes = 256u << 20;

/// Opens the repository at the root of `container`. Until StartWatching() is called, `max_age`: how
/// long ago the branch may have been looked up; each call asks by default. Afterwards it is
/// followed (follower.h), `period`: how often its pointer is looked at. Fails if the commit cannot
/// be found or read. A store of a tag or snapshot never changes.
[[nodiscard]] Result<std::shared_ptr<Store>> OpenIcechunkStore(
    std::shared_ptr<const Store> container, IcechunkAt at, Age max_age = Age{0},
    Age period = std::chrono::seconds(1));

/// The same where `at` leads to `pointer`, as LookForIcechunk() has found.
[[nodiscard]] Result<std::shared_ptr<Store>> OpenIcechunkStore(
    std::shared_ptr<const Store> container, IcechunkAt at, IcechunkPointer pointer, Age max_age,
    Age period);

/// The store that holds the repository; null if `store` is no IcechunkStore.
[[nodiscard]] std::shared_ptr<const Store> IcechunkContainerOf(const Store& store);

/// Which object of that has the bytes of a chunk of an IcechunkStore, and where they begin in it.
struct IcechunkPlace {
  std::string key;
  uint64_t offset = 0;
};
/// kNotFound for what is no chunk, or absent; kUnsupported, with where it is, for a chunk that is
/// stored inline or virtual.
[[nodiscard]] Result<IcechunkPlace> IcechunkPlaceOf(const Store& store, std::string_view key);

}  // namespace zarrfs
