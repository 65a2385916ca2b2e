#include "zarrcore/view/view.h"

#include <array>

#include "zarrcore/view/reader_profile.h"
#include "zarrcore/view/v2_view.h"
#include "zarrcore/view/v3_view.h"

namespace zarrfs {

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
