// Makes a sample of climate data: one year of sea surface temperatures as packed integers.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "tools/zarrctl/sample/sample_stores.h"
#include "tools/zarrctl/sample/sample_writer.h"

namespace zarrfs::ctl {
namespace {

constexpr uint64_t kMonths = 12;
constexpr uint64_t kLatitudes = 90;
constexpr uint64_t kLongitudes = 180;
constexpr int16_t kLand = -32767;
constexpr double kRadians = std::numbers::pi / 180;

double Latitude(uint64_t row) { return -89 + 2.0 * static_cast<double>(row); }
double Longitude(uint64_t column) { return -179 + 2.0 * static_cast<double>(column); }

// Returns the depth of the sea at a place; negative on land.
double Depth(double lat, double lon) {
  const double y = lat * kRadians, x = lon * kRadians;
  const double height = std::sin(1.7 * x + 0.6) * std::cos(2.1 * y) +
                        0.5 * std::sin(3 * x - 1.3 * y) + 0.3 * std::cos(5 * y + 2 * x) - 0.55;
  return -4000 * height;
}

double Temperature(uint64_t month, double lat, double lon) {
  const double season = std::cos((static_cast<double>(month) - 7.5) * 30 * kRadians);
  const double eddies = std::sin(lon / 6) * std::cos(lat / 5) + std::sin(lon / 17 - lat / 9);
  const double celsius = 29 - 0.0085 * lat * lat + 5 * season * lat / 90 + 0.7 * eddies;
  return std::max(celsius, -1.8);
}

Json CfAttributes(std::string_view standard_name, std::string_view long_name,
                  std::string_view units) {
  return {{"standard_name", standard_name}, {"long_name", long_name}, {"units", units}};
}

SampleArray TemperatureArray() {
  std::vector<int16_t> values;
  for (uint64_t month = 0; month < kMonths; ++month) {
    for (uint64_t row = 0; row < kLatitudes; ++row) {
      for (uint64_t column = 0; column < kLongitudes; ++column) {
        const double lat = Latitude(row), lon = Longitude(column);
        const double packed = std::round((Temperature(month, lat, lon) - 20) * 1000);
        values.push_back(Depth(lat, lon) < 0 ? kLand : static_cast<int16_t>(packed));
      }
    }
  }
  Json attributes = CfAttributes("sea_surface_temperature", "sea surface temperature", "degC");
  attributes.update({{"scale_factor", 0.001}, {"add_offset", 20.0}, {"_FillValue", kLand}});
  return {.type = "int16",
          .shape = {kMonths, kLatitudes, kLongitudes},
          .shard = {6, 90, 90},
          .chunk = {1, 45, 45},
          .dimensions = {"time", "lat", "lon"},
          .fill = kLand,
          .attributes = attributes,
          .values = ToBytes(values)};
}

SampleArray DepthArray() {
  std::vector<float> values;
  for (uint64_t row = 0; row < kLatitudes; ++row) {
    for (uint64_t column = 0; column < kLongitudes; ++column) {
      const double depth = Depth(Latitude(row), Longitude(column));
      values.push_back(depth < 0 ? std::numeric_limits<float>::quiet_NaN()
                                 : static_cast<float>(std::round(depth)));
    }
  }
  return {.type = "float32",
          .shape = {kLatitudes, kLongitudes},
          .shard = {90, 90},
          .chunk = {45, 45},
          .dimensions = {"lat", "lon"},
          .fill = "NaN",
          .attributes = CfAttributes("sea_floor_depth_below_geoid", "depth of the sea", "m"),
          .compressor = {"gzip", Json{{"level", 6}}},
          .values = ToBytes(values)};
}

SampleArray TimeArray() {
  const std::vector<int32_t> middles = {15, 45, 74, 105, 135, 166, 196, 227, 258, 288, 319, 349};
  Json attributes = {
      {"standard_name", "time"}, {"units", "days since 2025-01-01"}, {"calendar", "standard"}};
  return {.type = "int32",
          .shape = {kMonths},
          .chunk = {kMonths},
          .dimensions = {"time"},
          .attributes = attributes,
          .values = ToBytes(middles)};
}

SampleArray GeographicAxis(const std::string& name, uint64_t length, double (*at)(uint64_t),
                           const Json& attributes) {
  std::vector<float> values;
  for (uint64_t i = 0; i < length; ++i) values.push_back(static_cast<float>(at(i)));
  return {.type = "float32",
          .shape = {length},
          .chunk = {length},
          .dimensions = {name},
          .fill = "NaN",
          .attributes = attributes,
          .values = ToBytes(values)};
}

SampleArray SalinityArray() {
  std::vector<int16_t> values;
  for (int drifter = 0; drifter < 4; ++drifter) {
    for (int reading = 0; reading < 1000; ++reading) {
      values.push_back(static_cast<int16_t>((reading * 7 + drifter * 101) % 2000 - 1000));
    }
  }
  Json attributes = CfAttributes("sea_water_practical_salinity", "salinity", "1");
  attributes.update({{"scale_factor", 0.001}, {"add_offset", 35.0}, {"_FillValue", kLand}});
  return {.type = "int16",
          .shape = {4, 1000},
          .shard = {2, 500},
          .chunk = {1, 125},
          .dimensions = {"drifter", "reading"},
          .fill = kLand,
          .attributes = attributes,
          .values = ToBytes(values)};
}

}  // namespace

Result<void> WriteOcean(const std::string& folder) {
  SampleWriter writer(folder);
  const std::pair<std::string, SampleArray> arrays[] = {
      {"temperature", TemperatureArray()},
      {"depth", DepthArray()},
      {"time", TimeArray()},
      {"lat", GeographicAxis("lat", kLatitudes, Latitude,
                             CfAttributes("latitude", "latitude", "degrees_north"))},
      {"lon", GeographicAxis("lon", kLongitudes, Longitude,
                             CfAttributes("longitude", "longitude", "degrees_east"))},
      {"drifters/salinity", SalinityArray()},
  };
  for (const auto& [path, array] : arrays) {
    if (auto added = writer.AddArray(path, array); !added) return added;
  }
  auto added = writer.AddGroup("drifters", {{"title", "Four drifters of a made-up ocean"}});
  if (!added) return added;
  return writer.AddGroup("", {{"title", "A made-up ocean"}, {"Conventions", "CF-1.8"}});
}

}  // namespace zarrfs::ctl
