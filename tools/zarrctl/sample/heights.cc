// Makes a sample raster of heights, in which some pixels have no value. It states its coordinate
// system by the CF conventions, as rioxarray does, and by GeoZarr.
#include <cmath>

#include "tools/zarrctl/sample/sample_stores.h"
#include "tools/zarrctl/sample/sample_writer.h"

namespace zarrfs::ctl {
namespace {

constexpr uint64_t kRows = 300;
constexpr uint64_t kColumns = 400;
constexpr double kPixel = 30;       // in metres
constexpr double kWest = 390000;    // the western edge of the raster, in metres
constexpr double kNorth = 5200000;  // the northern edge of the raster, in metres
constexpr int16_t kNoData = -32768;

constexpr std::string_view kUtm33North =
    R"(PROJCS["WGS 84 / UTM zone 33N",GEOGCS["WGS 84",DATUM["WGS_1984",)"
    R"(SPHEROID["WGS 84",6378137,298.257223563,AUTHORITY["EPSG","7030"]],)"
    R"(AUTHORITY["EPSG","6326"]],PRIMEM["Greenwich",0,AUTHORITY["EPSG","8901"]],)"
    R"(UNIT["degree",0.0174532925199433,AUTHORITY["EPSG","9122"]],AUTHORITY["EPSG","4326"]],)"
    R"(PROJECTION["Transverse_Mercator"],PARAMETER["latitude_of_origin",0],)"
    R"(PARAMETER["central_meridian",15],PARAMETER["scale_factor",0.9996],)"
    R"(PARAMETER["false_easting",500000],PARAMETER["false_northing",0],)"
    R"(UNIT["metre",1,AUTHORITY["EPSG","9001"]],AXIS["Easting",EAST],AXIS["Northing",NORTH],)"
    R"(AUTHORITY["EPSG","32633"]])";

// Returns the height of a pixel: hills, with a corner without data.
int16_t Height(uint64_t row, uint64_t column) {
  if (row + column < 120) return kNoData;
  const double y = static_cast<double>(row) / 30, x = static_cast<double>(column) / 30;
  const double hills = std::sin(x) * std::cos(1.3 * y) + 0.5 * std::sin(2.1 * x + y) +
                       0.25 * std::cos(4.3 * y - 3.1 * x);
  return static_cast<int16_t>(std::lround(1200 + 500 * hills));
}

SampleArray HeightsArray() {
  std::vector<int16_t> values;
  for (uint64_t row = 0; row < kRows; ++row) {
    for (uint64_t column = 0; column < kColumns; ++column) values.push_back(Height(row, column));
  }
  return {.type = "int16",
          .shape = {kRows, kColumns},
          .shard = {200, 200},
          .chunk = {50, 50},
          .dimensions = {"y", "x"},
          .fill = kNoData,
          .attributes = {{"standard_name", "height"},
                         {"long_name", "height of the ground"},
                         {"units", "m"},
                         {"_FillValue", kNoData},
                         {"grid_mapping", "spatial_ref"},
                         {"proj:code", "EPSG:32633"}},
          .values = ToBytes(values)};
}

// Makes a coordinate array with the centres of the pixels along an axis.
SampleArray PixelAxis(const std::string& name, uint64_t length, double edge, double step) {
  std::vector<double> values;
  for (uint64_t i = 0; i < length; ++i)
    values.push_back(edge + step * (static_cast<double>(i) + 0.5));
  const std::string standard_name = "projection_" + name + "_coordinate";
  return {.type = "float64",
          .shape = {length},
          .chunk = {length},
          .dimensions = {name},
          .fill = "NaN",
          .attributes = {{"standard_name", standard_name}, {"units", "metre"}},
          .values = ToBytes(values)};
}

SampleArray CoordinateSystemArray() {
  const std::string transform = fmt::format("{} {} 0.0 {} 0.0 {}", kWest, kPixel, kNorth, -kPixel);
  return {.type = "int32",
          .shape = {},
          .chunk = {},
          .dimensions = {},
          .attributes = {{"crs_wkt", kUtm33North},
                         {"spatial_ref", kUtm33North},
                         {"grid_mapping_name", "transverse_mercator"},
                         {"GeoTransform", transform}},
          .values = ToBytes(std::vector<int32_t>{0})};
}

}  // namespace

Result<void> WriteHeights(const std::string& folder) {
  SampleWriter writer(folder);
  const std::pair<std::string, SampleArray> arrays[] = {
      {"height", HeightsArray()},
      {"y", PixelAxis("y", kRows, kNorth, -kPixel)},
      {"x", PixelAxis("x", kColumns, kWest, kPixel)},
      {"spatial_ref", CoordinateSystemArray()},
  };
  for (const auto& [path, array] : arrays) {
    if (auto added = writer.AddArray(path, array); !added) return added;
  }
  return writer.AddGroup("", {{"title", "Made-up hills"}, {"Conventions", "CF-1.8"}});
}

}  // namespace zarrfs::ctl
