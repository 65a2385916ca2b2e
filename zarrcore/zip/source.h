// Where a store is: the one place that makes a Store of what somebody names.
//
//   /data/ocean.zarr          a folder
//   /data/ocean.zarr.zip      a zip file (.zip, or .ozx, which OME-Zarr calls them)
//   /data/all.zip/ocean.zarr  a folder in a zip file
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "zarrcore/base/result.h"
#include "zarrcore/local/local_store.h"
#include "zarrcore/os/descriptor.h"
#include "zarrcore/store/store.h"

namespace zarrfs {

/// Whether a file of this name may be a zip file: ends in .zip or .ozx, in any case.
[[nodiscard]] bool IsZipName(std::string_view name);

struct SourcePlace {
  std::string folder;  // a local one: the store, or that which holds the zip file
  std::string zip;     // name of the zip file; "": the store is the folder
  std::string below;   // folder in the zip file; "": the root

  [[nodiscard]] bool is_zip() const { return !zip.empty(); }
  /// The zip file, or the folder.
  [[nodiscard]] std::string path() const;
};

/// What `source` names. A folder where there is nothing, or something that is no store. `folder`:
/// SourcePlace::folder, opened before; then the path is not looked up.
[[nodiscard]] SourcePlace FindSource(const std::string& source, const Descriptor& folder = {});

/// Opens the store `source`; fails like OpenLocalStore() and OpenZipStore(). `options` but for
/// links and modes apply to a zip file's folder, too: whoever names a zip file may mean a symbolic
/// link, and names that file alone. `folder`: as in FindSource().
[[nodiscard]] Result<std::shared_ptr<Store>> OpenSource(const std::string& source,
                                                        LocalStoreOptions options = {},
                                                        Descriptor folder = {});

}  // namespace zarrfs
