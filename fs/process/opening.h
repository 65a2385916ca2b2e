// How the store of a mount is opened, by a worker or to try whether one could.
#pragma once

#include <functional>
#include <memory>

#include "fs/options/options.h"
#include "fs/process/worker_start.h"
#include "fs/tree/tree.h"
#include "zarrcore/base/result.h"
#include "zarrcore/os/descriptor.h"

namespace zarrfs {

/// The folder of a store (Location::folder) below the mount point, which must not be opened by its
/// path again: that leads into the mount. Empty for any other store.
[[nodiscard]] Descriptor OpenHiddenSource(const MountOptions& options);

/// `start`: its `source` is that of OpenHiddenSource(); takes its `fetch_socket`. `ids`: see
/// Tree::Open(). `on_out_of_reach`: of LocalStoreOptions.
[[nodiscard]] Result<std::unique_ptr<Tree>> OpenTree(const MountOptions& options,
                                                     WorkerStart& start, Descriptor ids,
                                                     std::function<void()> on_out_of_reach);

/// Opens the store as a worker would, in a process of its own, and closes it. Fails if there is no
/// store to serve. `source`: as of WorkerStart.
[[nodiscard]] Result<void> TryOpening(const MountOptions& options, Descriptor source = {});

}  // namespace zarrfs
