#include "zarrcore/view/view.h"

#include <array>

#include "zarrcore/view/reader_profile.h"
#include "zarrcore/view/v2_view.h"
#include "zarrcore/view/v3_view.h"

namespace zarrfs {

std::string ChunkNaming::Path(std::span<const uint64_t> coordinates) const {
  std::string path = prefix_c ? "c" : "";
  if (coordinates.empty() && !prefix_c) return "0";
  for (const uint64_t coordinate : coordinates) {
    if (!path.empty()) path += separator;
    path += std::to_string(coordinate);
  }
  return path;
}

bool ChunkNaming::Parse(std::span<const uint64_t> counts, std::string_view name, bool in_array,
                        ChunkCoordinates& at, size_t& level) const {
  const size_t rank = counts.size();
  if (in_array && prefix_c) {
    if (!name.starts_with('c')) return false;
    name.remove_prefix(1);
    if (nested() || rank == 0) return name.empty();
    if (!name.starts_with('.')) return false;
    name.remove_prefix(1);
  }
  if (rank == 0) return in_array && !prefix_c && name == "0";
  const size_t wanted = nested() ? level + 1 : rank;
  while (level < wanted) {
    const bool last = level + 1 == wanted;
    const size_t end = last ? name.size() : name.find('.');
    if (end == std::string_view::npos) return false;
    const auto value = ParseCoordinate(name.substr(0, end), counts[level]);
    if (!value) return false;
    at[level++] = *value;
    name.remove_prefix(last ? end : end + 1);
  }
  return true;
}

std::span<const View* const> AllViews() {
  static const V2View v2(ZarrPython2Profile());
  static const V2View gdal(GdalProfile());
  static const V2View netcdf(NetcdfProfile());
  static const std::array<const View*, kMaxViews> views = {&v2, &V3View(), &gdal, &netcdf};
  return views;
}

std::optional<size_t> ViewNumber(std::string_view name) {
  for (size_t i = 0; i < AllViews().size(); ++i) {
    if (AllViews()[i]->name() == name) return i;
  }
  return std::nullopt;
}

}  // namespace zarrfs
