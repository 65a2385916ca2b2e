// Opens the store of a mount, for a worker, or to check whether a worker could open it.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "fs/options/options.h"
#include "fs/process/store_fetcher.h"
#include "fs/process/worker_start.h"
#include "fs/tree/tree.h"
#include "zarrcore/base/result.h"
#include "zarrcore/os/descriptor.h"

namespace zarrfs {

/// Opens the folder of the store (Location::folder) if it is below the mount point. After mounting,
/// the folder's path leads into the mount and must not be opened. The result is empty for any other
/// store.
[[nodiscard]] Descriptor OpenHiddenSource(const MountOptions& options);

/// Opens the store and its tree. `start.source` must be from OpenHiddenSource();
/// `start.fetch_socket` is moved from. `ids`: see Tree::Open(). `on_out_of_reach`: see
/// LocalStoreOptions.
[[nodiscard]] Result<std::unique_ptr<Tree>> OpenTree(const MountOptions& options,
                                                     WorkerStart& start, Descriptor ids,
                                                     std::function<void()> on_out_of_reach);

/// The parts of a store that a live mount has already opened and read; see WorkerStart::source and
/// StoreFetcher.
struct OpenedBefore {
  Descriptor source = {};
  std::optional<OpenedFiles> files = {};
};

/// Opens the store as a worker would, in a separate process, and closes it. Fails if a worker could
/// not serve the store.
[[nodiscard]] Result<void> TryOpening(const MountOptions& options, OpenedBefore before = {});

}  // namespace zarrfs
