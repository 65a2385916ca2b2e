// The stores that `zarrctl sample` writes, one for each kind of reader. Their values are computed
// by formulas, so every machine writes the same stores.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "zarrcore/base/result.h"

namespace zarrfs::ctl {

struct SampleStore {
  std::string_view name;  // the name of the store's folder
  std::string_view what;  // a description for users
  /// Writes the store into a folder that exists and is empty.
  Result<void> (*write)(const std::string& folder);
};

[[nodiscard]] Result<void> WriteOcean(const std::string& folder);
[[nodiscard]] Result<void> WriteCells(const std::string& folder);
[[nodiscard]] Result<void> WriteHeights(const std::string& folder);

inline constexpr std::array<SampleStore, 3> kSampleStores = {{
    {"ocean.zarr", "climate: temperature by month, latitude, longitude; depth; drifters",
     WriteOcean},
    {"cells.zarr", "image: OME-Zarr 0.5, two channels, three resolutions, labels", WriteCells},
    {"heights.zarr", "raster: heights in metres, with a coordinate system (UTM)", WriteHeights},
}};

}  // namespace zarrfs::ctl
