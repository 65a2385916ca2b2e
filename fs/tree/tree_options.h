// TreeOptions: the options of a mount that determine its names, their contents, and how long they
// are cached.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "zarrcore/view/view.h"

namespace zarrfs {

/// The option values of fill policies, in the order of the enum.
inline constexpr std::pair<std::string_view, FillPolicy> kFillNames[] = {
    {"auto", FillPolicy::kAuto},
    {"keep", FillPolicy::kKeep},
    {"materialize", FillPolicy::kMaterialize}};

/// The option values of the nc formats, in the order of the enum.
inline constexpr std::pair<std::string_view, NetcdfFormat> kNetcdfNames[] = {
    {"auto", NetcdfFormat::kAuto}, {"2", NetcdfFormat::kCdf2}, {"5", NetcdfFormat::kCdf5}};

struct TreeOptions {
  // What the mount shows.
  std::string view;               // this one at the root; "" for one folder per view
  ViewSet views = ListedViews();  // which folders the root lists then; all views have one
  char separator = 0;             // '.' or '/' in chunk names; 0: as in the array
  FillPolicy fill = FillPolicy::kAuto;
  bool keeps_ome = false;  // otherwise OME-Zarr 0.5 is shown as 0.4 in v2, and 0.4 as 0.5 in v3
  CompressorSet compressors = kAllCompressors;  // that readers know; chunks with others are decoded
  NetcdfFormat netcdf = NetcdfFormat::kAuto;    // of the files in nc
  uint64_t string_scan = 16ULL << 20;  // stored bytes of an array scanned to size its texts
  uint64_t consolidated_max = 4096;    // nodes in a .zmetadata; larger groups have none
  std::optional<uint32_t> umask;       // bits removed from 0555 and 0444; default: stored modes
  std::optional<uint32_t> uid;         // owner of everything; default: the stored owners
  std::optional<uint32_t> gid;
  bool is_for_others = false;  // users other than the mounting one see the store's permissions

  // Its memory, and how soon it sees changes.
  uint64_t index_cache = 64ULL << 20;  // bytes
  uint64_t cache = 256ULL << 20;       // bytes of decoded chunks
  uint64_t node_cache = 32ULL << 20;   // bytes of parsed metadata
  uint64_t epochs = 160ULL << 20;      // bytes about the objects used; see EpochLimit
  std::optional<double> ttl;           // seconds a name may be out of date; default: automatic
  bool immutable = false;              // the store promises never to change

  bool operator==(const TreeOptions&) const = default;
};

}  // namespace zarrfs
