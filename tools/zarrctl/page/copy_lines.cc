#include "tools/zarrctl/page/copy_lines.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>

#include "tools/zarrctl/page/html.h"
#include "zarrcore/open/source.h"
#include "zarrcore/view/view.h"

namespace zarrfs::ctl {
namespace {

// Returns the path, in the mount, of a node's file or folder in a view; nullopt if the view does
// not show the node.
std::optional<std::string> PathIn(const CopyPlaces& places, const ViewPaths& paths,
                                  std::string_view view) {
  const auto number = ViewNumber(view);
  if (!number || *number >= paths.size() || !paths[*number]) return std::nullopt;
  const std::string folder = fmt::format("{}/{}", places.mount, view);
  return paths[*number]->empty() ? folder : JoinKey(folder, *paths[*number]);
}

std::string Python(const std::string& code) { return "python3 -c " + ShellWord(code); }

// Returns the index "[…]" that selects an array in an opened store; "" if the store itself is the
// array.
std::string Item(const std::string& array) {
  return array.empty() ? "" : fmt::format("[{}]", PythonText(array));
}

// True if `text` needs no escapes in URLs and GDAL names.
bool IsPlain(std::string_view text) {
  return text.find_first_of("\"'#%?\\:") == std::string_view::npos && text == EscapeHtml(text);
}

void AddZarrPython(const CopyPlaces& places, const std::string& array, const ViewPaths& paths,
                   std::vector<CopyLine>& lines) {
  if (PathIn(places, paths, "v2")) {
    lines.push_back(
        {"zarr-python 2", Python(fmt::format("import zarr; print(zarr.open({}, \"r\"){})",
                                             PythonText(places.mount + "/v2"), Item(array)))});
  }
  if (!places.is_folder) return;
  lines.push_back({"zarr-python 3, no mount",
                   Python(fmt::format("import zarr; print(zarr.open({}, mode=\"r\"){})",
                                      PythonText(places.store), Item(array)))});
}

}  // namespace

std::string MountPointFor(std::string_view store) {
  const std::string name = NameOfStore(store);
  const char* home = std::getenv("HOME");
  const bool is_root = geteuid() == 0 || home == nullptr || *home != '/';
  return fmt::format("{}/{}", is_root ? "/mnt" : home, name.empty() ? "store" : name);
}

std::vector<CopyLine> LinesToMount(const CopyPlaces& places) {
  const std::string options =
      places.mount_options.empty() ? "" : " -o " + ShellWord(places.mount_options);
  const std::string mount = ShellWord(places.mount);
  return {{"mount it", fmt::format("mkdir -p {} && zarrfs {} {}{}", mount, ShellWord(places.store),
                                   mount, options)},
          {"unmount it", fmt::format("zarrfs --unmount {}", mount)}};
}

std::vector<CopyLine> LinesForGroup(const CopyPlaces& places, const std::string& group,
                                    const ViewPaths& paths) {
  std::vector<CopyLine> lines;
  if (PathIn(places, paths, "v2")) {
    const std::string below = group.empty() ? "" : ", group=" + PythonText(group);
    lines.push_back({"xarray", Python(fmt::format("import xarray; print(xarray.open_zarr({}{}))",
                                                  PythonText(places.mount + "/v2"), below))});
  }
  if (const auto file = PathIn(places, paths, "nc")) {
    lines.push_back({"one NetCDF file", "ncdump -h " + ShellWord(*file)});
    if (IsPlain(*file)) {
      lines.push_back({"R", "Rscript -e " + ShellWord(fmt::format(
                                                "library(ncdf4); print(nc_open(\"{}\"))", *file))});
    }
  }
  if (PathIn(places, paths, "netcdf") && group.empty() && IsPlain(places.mount)) {
    lines.push_back({"netCDF-C, as Zarr",
                     fmt::format("ncdump -h 'file://{}/netcdf#mode=zarr,file'", places.mount)});
  }
  if (const auto folder = PathIn(places, paths, "gdal")) {
    lines.push_back({"GDAL", "gdalmdiminfo " + ShellWord(*folder)});
  }
  return lines;
}

std::vector<CopyLine> LinesForArray(const CopyPlaces& places, const std::string& array,
                                    const ViewPaths& paths, bool is_raster) {
  std::vector<CopyLine> lines;
  AddZarrPython(places, array, paths, lines);
  if (const auto folder = PathIn(places, paths, "gdal"); folder && IsPlain(*folder)) {
    lines.push_back({"GDAL", is_raster
                                 ? "gdalinfo " + ShellWord(fmt::format("ZARR:\"{}\"", *folder))
                                 : "gdalmdiminfo " + ShellWord(*folder)});
  }
  if (const auto file = PathIn(places, paths, "npy")) {
    lines.push_back(
        {"NumPy", Python(fmt::format("import numpy; print(numpy.load({}, mmap_mode=\"r\"))",
                                     PythonText(*file)))});
  }
  if (const auto folder = PathIn(places, paths, "java")) {
    lines.push_back({"QuPath, Bio-Formats", ShellWord(*folder)});
  }
  if (const auto folder = PathIn(places, paths, "v3")) {
    lines.push_back({"Zarr v3 without shards", ShellWord(*folder)});
  }
  lines.push_back({"details", fmt::format("zarrctl info {} {}", ShellWord(places.store),
                                          ShellWord(array.empty() ? "/" : array))});
  return lines;
}

}  // namespace zarrfs::ctl
