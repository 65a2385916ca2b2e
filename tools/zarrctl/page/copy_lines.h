// Lines to copy: how each program opens a store, a group or an array.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace zarrfs::ctl {

struct CopyLine {
  std::string program;  // "xarray"
  std::string line;     // for a shell
};

/// What lines are about.
struct CopyPlaces {
  std::string store;          // path or address
  std::string mount_options;  // as after -o; "" for none
  std::string mount;          // a folder where the store may be mounted
  bool is_folder = false;     // readers of Zarr v3 can open `store` without a mount
};

/// Where a user may mount `store`: below /mnt for root, else in the home folder.
[[nodiscard]] std::string MountPointFor(std::string_view store);

/// Makes the folder and mounts the store.
[[nodiscard]] std::vector<CopyLine> LinesToMount(const CopyPlaces& places);

/// What each view has of a node: a path below the view's folder. By number of the view.
using ViewPaths = std::vector<std::optional<std::string>>;

/// For a group: `paths` of its folder, or of its file in views of files.
[[nodiscard]] std::vector<CopyLine> LinesForGroup(const CopyPlaces& places,
                                                  const std::string& group, const ViewPaths& paths);
/// For an array. `is_raster`: of numbers, with an axis at least.
[[nodiscard]] std::vector<CopyLine> LinesForArray(const CopyPlaces& places,
                                                  const std::string& array, const ViewPaths& paths,
                                                  bool is_raster);

}  // namespace zarrfs::ctl
