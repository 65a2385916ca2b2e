#include "zarrcore/metadata/ome06.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

namespace zarrfs {
namespace {

using std::string_view_literals::operator""sv;

// The members of `ome` that exist in both 0.5 and 0.6.
constexpr std::array kMembersOf05 = {"version"sv, "multiscales"sv, "omero"sv,
                                     "labels"sv,  "plate"sv,       "well"sv,
                                     "series"sv,  "image-label"sv, "bioformats2raw.layout"sv};
// Axis types of arrays that hold transformations instead of images.
constexpr std::array kNoImage = {"array"sv, "coordinate"sv, "displacement"sv};
constexpr int kMaxSequences = 8;  // maximum nesting of sequences

bool IsJsonText(const Json& json) { return TextOf(json) != nullptr; }
bool IsTheText(const Json& json, std::string_view text) {
  return IsJsonText(json) && *TextOf(json) == text;
}

// The name of a coordinate system, which is identified by a string or by an object with a `name`.
// Null if `system` is null or has no name.
const Json& NameOf(const Json& system) {
  return system.is_object() ? MemberOrNull(system, "name") : system;
}

bool IsAxis(const Json& axis) {
  const Json& type = MemberOrNull(axis, "type");
  return IsJsonText(MemberOrNull(axis, "name")) &&
         std::ranges::none_of(kNoImage,
                              [&](std::string_view other) { return IsTheText(type, other); });
}

// A scale followed by a translation. Each is null if absent.
struct PlainTransformation {
  Json scale;
  Json translation;
};

// Appends a transformation to `plain`. False if 0.5 cannot express the result.
bool AddTransformation(const Json& transformation, size_t rank, int depth,
                       PlainTransformation& plain) {
  const Json& type = MemberOrNull(transformation, "type");
  if (IsTheText(type, "identity")) return true;
  if (IsTheText(type, "sequence")) {
    const Json& parts = MemberOrNull(transformation, "transformations");
    return depth < kMaxSequences && parts.is_array() &&
           std::ranges::all_of(parts, [&](const Json& part) {
             return AddTransformation(part, rank, depth + 1, plain);
           });
  }
  const bool is_scale = IsTheText(type, "scale");
  if (!is_scale && !IsTheText(type, "translation")) return false;
  const Json& values = MemberOrNull(transformation, is_scale ? "scale" : "translation");
  const bool is_valid = values.is_array() && values.size() == rank &&
                        std::ranges::all_of(values, [](const Json& v) { return v.is_number(); });
  // In 0.5, nothing may follow the translation.
  if (!is_valid || !plain.translation.is_null() || (is_scale && !plain.scale.is_null())) {
    return false;
  }
  (is_scale ? plain.scale : plain.translation) = values;
  return true;
}

std::optional<Json> DatasetAs05(const Json& dataset, size_t rank, const Json& system) {
  const Json& transformations = MemberOrNull(dataset, "coordinateTransformations");
  if (!IsJsonText(MemberOrNull(dataset, "path")) || !transformations.is_array() ||
      transformations.size() != 1) {
    return std::nullopt;
  }
  const Json& output = NameOf(MemberOrNull(transformations[0], "output"));
  PlainTransformation plain;
  if ((!output.is_null() && output != system) ||
      !AddTransformation(transformations[0], rank, 0, plain)) {
    return std::nullopt;
  }
  if (plain.scale.is_null()) plain.scale = std::vector<double>(rank, 1.0);
  Json list = Json::array({Json{{"type", "scale"}, {"scale", std::move(plain.scale)}}});
  if (!plain.translation.is_null()) {
    list.push_back({{"type", "translation"}, {"translation", std::move(plain.translation)}});
  }
  Json shown = dataset;
  shown["coordinateTransformations"] = std::move(list);
  return shown;
}

std::optional<Json> ImageAs05(const Json& image) {
  const Json& systems = MemberOrNull(image, "coordinateSystems");
  const Json& datasets = MemberOrNull(image, "datasets");
  if (!systems.is_array() || systems.size() != 1 || !datasets.is_array() || datasets.empty() ||
      !MemberOrNull(image, "coordinateTransformations").is_null()) {
    return std::nullopt;
  }
  const Json& name = MemberOrNull(systems[0], "name");
  const Json& axes = MemberOrNull(systems[0], "axes");
  if (!IsJsonText(name) || !axes.is_array() || axes.empty() || !std::ranges::all_of(axes, IsAxis)) {
    return std::nullopt;
  }
  Json shown = Json::object();
  for (const auto& [member, value] : image.items()) {
    if (member == "coordinateSystems") {
      shown["axes"] = axes;
    } else if (member == "datasets") {
      Json& list = shown["datasets"] = Json::array();
      for (const Json& dataset : value) {
        auto as05 = DatasetAs05(dataset, axes.size(), name);
        if (!as05) return std::nullopt;
        list.push_back(*std::move(as05));
      }
    } else if (member != "axes") {
      shown[member] = value;
    }
  }
  return shown;
}

}  // namespace

bool IsOme06(const Json& version) {
  constexpr auto kVersionName = "0.6"sv;
  const std::string* const text = TextOf(version);
  if (text == nullptr || !text->starts_with(kVersionName)) return false;
  return text->size() == kVersionName.size() || (*text)[kVersionName.size()] < '0' ||
         (*text)[kVersionName.size()] > '9';
}

std::optional<Json> Ome06As05(const Json& ome) {
  Json shown = Json::object();
  for (const auto& [name, value] : ome.items()) {
    if (std::ranges::find(kMembersOf05, name) == kMembersOf05.end()) return std::nullopt;
    shown[name] = value;
  }
  shown["version"] = "0.5";
  const auto images = shown.find("multiscales");
  if (images == shown.end()) return shown;
  if (!images->is_array()) return std::nullopt;
  for (Json& image : *images) {
    auto as05 = ImageAs05(image);
    if (!as05) return std::nullopt;
    image = *std::move(as05);
  }
  return shown;
}

}  // namespace zarrfs
