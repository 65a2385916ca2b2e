#include "tools/zarrctl/page/orientation.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>

#include "tools/zarrctl/page/numbers.h"
#include "tools/zarrctl/page/plane.h"
#include "tools/zarrctl/page/plane_values.h"

namespace zarrfs::ctl {
namespace {

constexpr uint64_t kLargestCoordinate = uint64_t{1} << 20;  // maximum size in decoded bytes

// True if a coordinate increases to the north: CF conventions, "Latitude Coordinate" and
// "Projections".
bool SaysNorth(const Json& attributes) {
  constexpr std::array<std::string_view, 8> kWords = {
      "degrees_north", "degree_north", "degree_N", "degrees_N",
      "degreeN",       "degreesN",     "latitude", "projection_y_coordinate"};
  return std::ranges::any_of(std::array{"units", "standard_name"}, [&](const char* name) {
    const std::string* text = TextOf(MemberOrNull(attributes, name));
    return text != nullptr && std::ranges::find(kWords, *text) != kWords.end();
  });
}

}  // namespace

bool RowsGoNorth(const Hierarchy& hierarchy, const Node& array,
                 const std::function<bool()>& is_over) {
  const ArrayMetadata& metadata = *array.array();
  if (metadata.rank() < 2 || !metadata.dimension_names) return false;
  const size_t axis = metadata.rank() - 2;
  const auto& name = (*metadata.dimension_names)[axis];
  if (!name) return false;
  const std::string path = JoinKey(FolderOf(array.path), *name);
  const auto node = IsValidKey(path) ? hierarchy.Get(path, kAnyAge)
                                     : Fail(ErrorCode::kNotFound, "{}: no key", path);
  if (!node || (*node)->array() == nullptr || (*node)->chunks == nullptr) return false;
  const ArrayMetadata& coordinate = *(*node)->array();
  const ArrayLayout& layout = (*node)->chunks->layout();
  if (coordinate.shape != std::vector{metadata.shape[axis]} || !SaysNorth(coordinate.attributes) ||
      !ElementNumbers::Of(coordinate.data_type) || !layout.inner_pipeline) {
    return false;
  }
  const auto plane =
      ChoosePlane(coordinate, layout, {}, {.chunks = 1, .decoded_bytes = kLargestCoordinate});
  if (!plane || plane->columns.size() != coordinate.shape[0]) return false;
  const PlaneValues values =
      ReadPlane(coordinate, *(*node)->chunks, *plane, {.most_rows = 1}, is_over);
  const PlaneValues::Grid& grid = values.channels.front();
  // Comparisons with NaN are false, so a coordinate without numbers does not flip the picture.
  return grid.low.front() < grid.low.back() && grid.high.front() < grid.high.back();
}

}  // namespace zarrfs::ctl
