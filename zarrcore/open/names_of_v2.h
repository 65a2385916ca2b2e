// The names of Zarr v2 documents, which readers look up in every group, even in Zarr v3.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

namespace zarrfs {

/// True for `.zarray`, `.zgroup`, `.zattrs` and `.zmetadata`. In Zarr v3, a node may have one of
/// these names, but readers look them up as documents.
[[nodiscard]] inline bool IsNameOfV2Document(std::string_view name) {
  constexpr std::array<std::string_view, 4> kNames = {".zarray", ".zgroup", ".zattrs",
                                                      ".zmetadata"};
  return std::ranges::find(kNames, name) != kNames.end();
}

}  // namespace zarrfs
