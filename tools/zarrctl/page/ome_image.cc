#include "tools/zarrctl/page/ome_image.h"

#include <algorithm>
#include <charconv>
#include <string_view>
#include <utility>

#include "zarrcore/metadata/ome.h"
#include "zarrcore/store/store.h"

namespace zarrfs::ctl {
namespace {

constexpr size_t kMaxChannels = 8;  // the maximum number of channels that are drawn
constexpr size_t kMaxLevels = 64;

const Json& First(const Json& list) {
  static const Json kNull;
  return list.is_array() && !list.empty() ? list.front() : kNull;
}

std::string TextOrEmpty(const Json& json) {
  const std::string* text = TextOf(json);
  return text == nullptr ? "" : *text;
}

std::optional<double> Number(const Json& json) {
  return json.is_number() ? std::optional(json.get<double>()) : std::nullopt;
}

// Parses a colour such as "FF0000", or "FF0000FF" with an alpha value, which is ignored.
std::optional<Colour> ParseColour(const Json& json) {
  const std::string text = TextOrEmpty(json);
  uint32_t number = 0;
  if (text.size() < 6) return std::nullopt;
  const auto [end, error] = std::from_chars(text.data(), text.data() + 6, number, 16);
  if (error != std::errc() || end != text.data() + 6) return std::nullopt;
  return Colour{static_cast<uint8_t>(number >> 16), static_cast<uint8_t>(number >> 8 & 0xff),
                static_cast<uint8_t>(number & 0xff)};
}

std::vector<OmeChannel> ChannelsOf(const Json& omero) {
  std::vector<OmeChannel> all;
  std::vector<OmeChannel> active;
  const Json& list = MemberOrNull(omero, "channels");
  if (!list.is_array()) return {};
  for (const Json& json : list) {
    OmeChannel channel{.number = all.size(), .label = TextOrEmpty(MemberOrNull(json, "label"))};
    channel.colour = ParseColour(MemberOrNull(json, "color"));
    const Json& window = MemberOrNull(json, "window");
    channel.start = Number(MemberOrNull(window, "start"));
    channel.end = Number(MemberOrNull(window, "end"));
    const Json& is_active = MemberOrNull(json, "active");
    if (!is_active.is_boolean() || is_active.get<bool>()) active.push_back(channel);
    all.push_back(std::move(channel));
    if (all.size() == 1000) break;
  }
  std::vector<OmeChannel>& drawn = active.empty() ? all : active;
  if (drawn.size() > kMaxChannels) drawn.resize(kMaxChannels);
  return std::move(drawn);
}

}  // namespace

PlaneHints OmeImage::HintsFor(const std::vector<uint64_t>& shape) const {
  PlaneHints hints;
  if (axes.size() != shape.size()) return hints;
  hints.axes = axes;
  // The last two axes are the axes of the picture, so they cannot be the channel axis.
  if (!channel_axis || *channel_axis + 2 >= shape.size()) return hints;
  hints.channel_axis = channel_axis;
  for (const OmeChannel& channel : channels) {
    if (channel.number < shape[*channel_axis]) hints.channels.push_back(channel.number);
  }
  if (hints.channels.empty()) hints.channels = {0};
  return hints;
}

std::optional<OmeImage> FindOmeImage(const Json& attributes, const std::string& path) {
  if (!attributes.is_object() || !IsOme(attributes, {.name = NameOf(path)})) return std::nullopt;
  const Json& inside = MemberOrNull(attributes, "ome");
  const Json& members = MemberOrNull(inside, "multiscales").is_array() ? inside : attributes;
  const Json& scales = First(MemberOrNull(members, "multiscales"));
  OmeImage image;
  const Json& datasets = MemberOrNull(scales, "datasets");
  if (!datasets.is_array()) return std::nullopt;
  for (const Json& dataset : datasets) {
    const std::string level = TextOrEmpty(MemberOrNull(dataset, "path"));
    if (level.empty() || !IsValidKey(level) || image.levels.size() == kMaxLevels) continue;
    image.levels.push_back(JoinKey(path, level));
  }
  if (image.levels.empty()) return std::nullopt;
  const Json& axes = MemberOrNull(scales, "axes");
  for (size_t i = 0; axes.is_array() && i < axes.size() && i < kMaxRank; ++i) {
    const Json& axis = axes[i];
    image.axes.push_back(TextOrEmpty(axis.is_string() ? axis : MemberOrNull(axis, "name")));
    if (image.axes.back() == "c" || TextOrEmpty(MemberOrNull(axis, "type")) == "channel") {
      image.channel_axis = i;
    }
  }
  image.channels = ChannelsOf(MemberOrNull(members, "omero"));
  image.is_label = MemberOrNull(members, "image-label").is_object();
  return image;
}

}  // namespace zarrfs::ctl
