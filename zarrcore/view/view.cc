#include "zarrcore/view/view.h"

#include <array>

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

std::span<const View* const> AllViews() {
  static const std::array<const View*, 2> kViews = {&V2View(), &V3View()};
  return kViews;
}

std::optional<size_t> ViewNumber(std::string_view name) {
  for (size_t i = 0; i < AllViews().size(); ++i) {
    if (AllViews()[i]->name() == name) return i;
  }
  return std::nullopt;
}

}  // namespace zarrfs
