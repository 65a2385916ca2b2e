#include "zarrcore/view/view.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "zarrcore/view/nc_view.h"
#include "zarrcore/view/npy_view.h"
#include "zarrcore/view/reader_profile.h"
#include "zarrcore/view/v2_view.h"
#include "zarrcore/view/v3_view.h"

namespace zarrfs {

std::span<const View* const> AllViews() {
  static const V2View v2(ZarrPython2Profile());
  static const V2View gdal(GdalProfile());
  static const V2View netcdf(NetcdfProfile());
  static const V2View java(JavaProfile());
  static const std::array<const View*, kMaxViews> views = {&v2,   &V3View(), &gdal,     &netcdf,
                                                           &java, &NcView(), &NpyView()};
  return views;
}

std::optional<size_t> ViewNumber(std::string_view name) {
  for (size_t i = 0; i < AllViews().size(); ++i) {
    if (AllViews()[i]->name() == name) return i;
  }
  return std::nullopt;
}

ViewSet ListedViews() {
  ViewSet listed;
  for (size_t i = 0; i < AllViews().size(); ++i) listed[i] = AllViews()[i]->is_listed();
  return listed;
}

std::optional<ViewSet> ParseViews(std::string_view names) {
  ViewSet views;
  for (size_t from = 0; from <= names.size();) {
    const size_t end = std::min(names.find(':', from), names.size());
    const auto number = ViewNumber(names.substr(from, end - from));
    if (!number) return std::nullopt;
    views.set(*number);
    from = end + 1;
  }
  return views;
}

std::string ViewNames(const ViewSet& views, std::string_view separator) {
  std::string names;
  for (size_t i = 0; i < AllViews().size(); ++i) {
    if (views[i])
      names += fmt::format("{}{}", names.empty() ? "" : separator, AllViews()[i]->name());
  }
  return names;
}

}  // namespace zarrfs
