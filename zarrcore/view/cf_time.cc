#include "zarrcore/view/cf_time.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <string_view>
#include <utility>

namespace zarrfs {
namespace {

struct CfUnit {
  std::string_view numpy;
  std::string_view cf;
};

// CF has no month or year of a fixed length, and readers know nothing below nanoseconds.
constexpr std::array kCfUnits = {
    CfUnit{"D", "days"},         CfUnit{"h", "hours"},         CfUnit{"m", "minutes"},
    CfUnit{"s", "seconds"},      CfUnit{"ms", "milliseconds"}, CfUnit{"us", "microseconds"},
    CfUnit{"ns", "nanoseconds"},
};

std::string_view CfUnitOf(const DataType& type) {
  const auto* found = std::find_if(kCfUnits.begin(), kCfUnits.end(), [&](const CfUnit& unit) {
    return unit.numpy == type.time_unit;
  });
  return type.time_scale == 1 && found != kCfUnits.end() ? found->cf : "";
}

}  // namespace

Json WithCfTime(Json attributes, const DataType& type) {
  const bool is_datetime = type.kind == DataKind::kDatetime;
  if (!is_datetime && type.kind != DataKind::kTimedelta) return attributes;
  const auto add = [&](const char* name, Json value) {
    if (!attributes.contains(name)) attributes[name] = std::move(value);
  };
  add("_FillValue", std::numeric_limits<int64_t>::min());
  if (attributes.contains("units")) return attributes;
  if (const std::string_view unit = CfUnitOf(type); unit.empty()) {
    add("zarr_dtype",
        fmt::format("{}64[{}{}]", is_datetime ? "datetime" : "timedelta",
                    type.time_scale == 1 ? "" : std::to_string(type.time_scale), type.time_unit));
  } else if (is_datetime) {
    add("units", fmt::format("{} since 1970-01-01", unit));
    add("calendar", "proleptic_gregorian");
  } else {
    add("units", unit);
  }
  return attributes;
}

}  // namespace zarrfs
