// TreeOptions: what of a mount's options decides which names it has, what is in them, and for how
// long they hold.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "zarrcore/view/view.h"

namespace zarrfs {

/// The names of fill policies as options, in the order of the values.
inline constexpr std::pair<std::string_view, FillPolicy> kFillNames[] = {
    {"auto", FillPolicy::kAuto},
    {"keep", FillPolicy::kKeep},
    {"materialize", FillPolicy::kMaterialize}};

/// The formats of the files in nc as options, in the order of the values.
inline constexpr std::pair<std::string_view, NetcdfFormat> kNetcdfNames[] = {
    {"auto", NetcdfFormat::kAuto}, {"2", NetcdfFormat::kCdf2}, {"5", NetcdfFormat::kCdf5}};

struct TreeOptions {
  // What the mount shows.
  std::string view;               // this one at the root; "" for one folder per view
  ViewSet views = ListedViews();  // which folders the root lists then; it has all of them
  char separator = 0;  // '.' or '/' between the numbers of chunk names; 0: as suits the array
  FillPolicy fill = FillPolicy::kAuto;
  bool keeps_ome = false;  // else OME-Zarr 0.5 is 0.4 in v2, and 0.4 is 0.5 in v3
  CompressorSet compressors = kAllCompressors;  // that readers know; chunks with others are decoded
  NetcdfFormat netcdf = NetcdfFormat::kAuto;    // of the files in nc
  uint64_t string_scan = 16ULL << 20;  // stored bytes of an array, looked at to size its texts
  uint64_t consolidated_max = 4096;    // nodes in a .zmetadata; a group with more below has none
  std::optional<uint32_t> umask;       // 0555 and 0444 less these; else as in the store
  std::optional<uint32_t> uid;         // owner of everything; else as in the store
  std::optional<uint32_t> gid;
  bool is_for_others = false;  // users other than the mounting one see the store's permissions

  // What it costs, and how soon it sees changes.
  uint64_t index_cache = 64ULL << 20;  // bytes
  uint64_t cache = 256ULL << 20;       // bytes of decoded chunks
  uint64_t node_cache = 32ULL << 20;   // bytes of parsed metadata
  uint64_t epochs = 160ULL << 20;      // bytes about the objects that were seen; see EpochLimit
  std::optional<double> ttl;           // seconds that a name may be out of date; else as suits
  bool immutable = false;              // the store promises never to change

  bool operator==(const TreeOptions&) const = default;
};

}  // namespace zarrfs
