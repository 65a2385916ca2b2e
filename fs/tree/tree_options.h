// TreeOptions: the options of a mount that determine its names, the contents of its files, and how
// long they are cached.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "zarrcore/view/view.h"

namespace zarrfs {

/// The names of the fill policies in mount options, in the order of the enumeration.
inline constexpr std::pair<std::string_view, FillPolicy> kFillNames[] = {
    {"auto", FillPolicy::kAuto},
    {"keep", FillPolicy::kKeep},
    {"materialize", FillPolicy::kMaterialize}};

/// The names of the netCDF formats in mount options, in the order of the enumeration. They apply to
/// the `nc` view.
inline constexpr std::pair<std::string_view, NetcdfFormat> kNetcdfNames[] = {
    {"auto", NetcdfFormat::kAuto}, {"2", NetcdfFormat::kCdf2}, {"5", NetcdfFormat::kCdf5}};

struct TreeOptions {
  // What the mount shows.
  std::string view;               // the view at the root; "" for one folder per view
  ViewSet views = ListedViews();  // the views that the root lists, if it has one folder per view
  char separator = 0;             // '.' or '/' in chunk names; 0 for the separator of the array
  FillPolicy fill = FillPolicy::kAuto;
  bool keeps_ome = false;  // if false, OME-Zarr 0.5 is shown as 0.4 in v2, and 0.4 as 0.5 in v3
  // The compressors that readers support; chunks with other compressors are decoded.
  CompressorSet compressors = kAllCompressors;
  NetcdfFormat netcdf = NetcdfFormat::kAuto;  // the format of files in the `nc` view
  // Arrays of strings with more stored bytes than this are not scanned for the length of their
  // strings, and not shown in the views that need the length.
  uint64_t string_scan = 16ULL << 20;
  // The maximum number of nodes in a .zmetadata; larger groups have none.
  uint64_t consolidated_max = 4096;
  std::optional<uint32_t> umask;  // bits removed from 0555 and 0444; default: the stored modes
  std::optional<uint32_t> uid;    // the owner of everything; default: the stored owners
  std::optional<uint32_t> gid;
  // True if users other than the mounting user may access the mount.
  bool is_for_others = false;

  // The memory of the mount, and how soon it notices changes.
  uint64_t index_cache = 64ULL << 20;  // in bytes
  uint64_t cache = 256ULL << 20;       // in bytes of decoded chunks
  uint64_t node_cache = 32ULL << 20;   // in bytes of parsed metadata
  uint64_t epochs = 160ULL << 20;      // in bytes, for the epochs of objects; see EpochLimit
  uint64_t past_versions = 1'000'000;  // see PastVersions
  std::optional<double> ttl;  // how long a name may be out of date, in seconds; default: automatic
  bool immutable = false;     // true if the user promises that the store never changes

  bool operator==(const TreeOptions&) const = default;
};

}  // namespace zarrfs
