// Command lines to copy: how each program opens a store, a group or an array.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace zarrfs::ctl {

struct CopyLine {
  std::string program;  // such as "xarray"
  std::string line;     // a line for a shell
};

/// The folders and addresses that appear in command lines.
struct CopyPlaces {
  std::string store;          // the path or address of the store
  std::string mount_options;  // in the syntax of -o; "" for none
  std::string mount;          // a folder where the store may be mounted
  bool is_folder = false;     // true if readers of Zarr v3 can open `store` without a mount
};

/// The folder that the page suggests for mounting `store`: below /mnt for root, otherwise in the
/// home folder.
[[nodiscard]] std::string MountPointFor(std::string_view store);

/// Returns command lines that make the mount point and mount the store.
[[nodiscard]] std::vector<CopyLine> LinesToMount(const CopyPlaces& places);

/// The path of a node below each view's folder, by view number; nullopt if that view does not show
/// the node.
using ViewPaths = std::vector<std::optional<std::string>>;

/// Returns command lines that open a group. `paths`: the paths of the group's folder or, in views
/// that show a group as one file, of that file.
[[nodiscard]] std::vector<CopyLine> LinesForGroup(const CopyPlaces& places,
                                                  const std::string& group, const ViewPaths& paths);
/// Returns command lines that open an array. `is_raster`: the array has numbers and at least one
/// axis.
[[nodiscard]] std::vector<CopyLine> LinesForArray(const CopyPlaces& places,
                                                  const std::string& array, const ViewPaths& paths,
                                                  bool is_raster);

}  // namespace zarrfs::ctl
