// Makes a sample image like those of microscopes: cells with labelled nuclei.
#include <algorithm>
#include <array>
#include <cmath>

#include "tools/zarrctl/sample/sample_stores.h"
#include "tools/zarrctl/sample/sample_writer.h"

namespace zarrfs::ctl {
namespace {

constexpr uint64_t kSide = 512;  // in pixels
constexpr uint64_t kResolutions = 3;
constexpr double kMicrometers = 0.325;  // per pixel
constexpr uint64_t kCells = 60;

// A linear congruential generator, which returns the same numbers on every platform.
class Numbers {
 public:
  uint32_t Below(uint32_t limit) {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return static_cast<uint32_t>(state_ >> 33) % limit;
  }

 private:
  uint64_t state_ = 2025;
};

struct Cell {
  double y, x, radius;
};

std::vector<Cell> Cells() {
  Numbers numbers;
  std::vector<Cell> cells;
  while (cells.size() < kCells) {
    const Cell cell{20.0 + numbers.Below(kSide - 40), 20.0 + numbers.Below(kSide - 40),
                    10.0 + numbers.Below(9)};
    const bool is_free = std::ranges::none_of(cells, [&](const Cell& other) {
      return std::hypot(cell.y - other.y, cell.x - other.x) < cell.radius + other.radius + 6;
    });
    if (is_free) cells.push_back(cell);
  }
  return cells;
}

// One resolution of the image: two channels, and the labels of the cells.
struct Level {
  uint64_t side = kSide;
  std::array<std::vector<uint16_t>, 2> channels;
  std::vector<uint16_t> labels;
};

Level Finest() {
  Level level;
  const std::vector<Cell> cells = Cells();
  Numbers noise;
  for (uint64_t y = 0; y < kSide; ++y) {
    for (uint64_t x = 0; x < kSide; ++x) {
      uint16_t label = 0;
      double nucleus = 0, membrane = 0;
      for (size_t i = 0; i < cells.size(); ++i) {
        const double away =
            std::hypot(static_cast<double>(y) - cells[i].y, static_cast<double>(x) - cells[i].x) /
            cells[i].radius;
        if (away > 3) continue;
        if (away < 1) label = static_cast<uint16_t>(i + 1);
        nucleus += 3000 * std::exp(-away * away * away * away);
        membrane += 1500 * std::exp(-12 * (away - 1.5) * (away - 1.5));
      }
      level.labels.push_back(label);
      level.channels[0].push_back(static_cast<uint16_t>(200 + nucleus + noise.Below(64)));
      level.channels[1].push_back(static_cast<uint16_t>(150 + membrane + noise.Below(64)));
    }
  }
  return level;
}

// Halves the resolution: averages the channels, and takes every second label along each axis.
Level Halved(const Level& finer) {
  Level level;
  level.side = finer.side / 2;
  for (uint64_t y = 0; y < level.side; ++y) {
    for (uint64_t x = 0; x < level.side; ++x) {
      const uint64_t at = 2 * y * finer.side + 2 * x;
      level.labels.push_back(finer.labels[at]);
      for (size_t c = 0; c < 2; ++c) {
        const auto& from = finer.channels[c];
        const int sum = from[at] + from[at + 1] + from[at + finer.side] + from[at + finer.side + 1];
        level.channels[c].push_back(static_cast<uint16_t>(sum / 4));
      }
    }
  }
  return level;
}

SampleArray ChannelsArray(const Level& level) {
  std::vector<uint16_t> both = level.channels[0];
  both.insert(both.end(), level.channels[1].begin(), level.channels[1].end());
  return {.type = "uint16",
          .shape = {2, level.side, level.side},
          .shard = {1, 256, 256},
          .chunk = {1, 64, 64},
          .dimensions = {"c", "y", "x"},
          .compressor = {"blosc", Json{{"typesize", 2},
                                       {"cname", "zstd"},
                                       {"clevel", 5},
                                       {"shuffle", "shuffle"},
                                       {"blocksize", 0}}},
          .values = ToBytes(both)};
}

SampleArray LabelsArray(const Level& level) {
  return {.type = "uint16",
          .shape = {level.side, level.side},
          .shard = {256, 256},
          .chunk = {64, 64},
          .dimensions = {"y", "x"},
          .values = ToBytes(level.labels)};
}

Json Axis(std::string_view name) {
  return {{"name", name}, {"type", "space"}, {"unit", "micrometer"}};
}

Json Multiscales(std::string_view name, bool has_channels) {
  Json axes = Json::array();
  if (has_channels) axes.push_back({{"name", "c"}, {"type", "channel"}});
  axes.push_back(Axis("y"));
  axes.push_back(Axis("x"));
  Json datasets = Json::array();
  for (uint64_t level = 0; level < kResolutions; ++level) {
    const double pixel = kMicrometers * static_cast<double>(uint64_t{1} << level);
    Json scale = Json::array();
    if (has_channels) scale.push_back(1.0);
    scale.push_back(pixel);
    scale.push_back(pixel);
    Json transformations = Json::array({Json{{"type", "scale"}, {"scale", scale}}});
    datasets.push_back(
        {{"path", std::to_string(level)}, {"coordinateTransformations", transformations}});
  }
  return Json::array({Json{{"name", name}, {"axes", axes}, {"datasets", datasets}}});
}

Json Channel(std::string_view label, std::string_view color, int end) {
  return {{"label", label},
          {"color", color},
          {"active", true},
          {"window", {{"min", 0}, {"max", 65535}, {"start", 100}, {"end", end}}}};
}

Json Ome(Json members) {
  members["version"] = "0.5";
  return {{"ome", members}};
}

Json ImageAttributes() {
  Json channels =
      Json::array({Channel("nuclei", "3355FF", 3300), Channel("membranes", "00FF66", 1800)});
  return Ome({{"multiscales", Multiscales("cells", /*has_channels=*/true)},
              {"omero", {{"channels", channels}}}});
}

Json LabelAttributes() {
  return Ome({{"multiscales", Multiscales("nuclei", /*has_channels=*/false)},
              {"image-label", {{"source", {{"image", "../../"}}}}}});
}

}  // namespace

Result<void> WriteCells(const std::string& folder) {
  SampleWriter writer(folder);
  Level level = Finest();
  for (uint64_t number = 0; number < kResolutions; ++number) {
    const std::string name = std::to_string(number);
    if (auto added = writer.AddArray(name, ChannelsArray(level)); !added) return added;
    auto added = writer.AddArray("labels/nuclei/" + name, LabelsArray(level));
    if (!added) return added;
    level = Halved(level);
  }
  if (auto added = writer.AddGroup("labels/nuclei", LabelAttributes()); !added) return added;
  auto added = writer.AddGroup("labels", Ome({{"labels", Json::array({"nuclei"})}}));
  if (!added) return added;
  return writer.AddGroup("", ImageAttributes());
}

}  // namespace zarrfs::ctl
