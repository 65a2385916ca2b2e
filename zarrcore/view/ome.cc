#include "zarrcore/view/ome.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace zarrfs {
namespace {

using std::string_view_literals::operator""sv;

constexpr auto kOme = "ome";
constexpr auto kVersion = "version";

// Members that no other group has.
constexpr std::array kOfOmeAlone = {"multiscales"sv, "plate"sv, "well"sv, "image-label"sv,
                                    "bioformats2raw.layout"sv};
// And all that 0.4 knows.
constexpr std::array kMembers = {
    "multiscales"sv, "omero"sv,       "labels"sv, "plate"sv,
    "well"sv,        "image-label"sv, "series"sv, "bioformats2raw.layout"sv};
// Those that state their version in 0.4: an object, or each object of a list.
constexpr std::array kWithVersion = {"multiscales"sv, "omero"sv, "plate"sv, "well"sv,
                                     "image-label"sv};

bool HasAny(const Json& attributes, const auto& names) {
  return std::ranges::any_of(names, [&](auto name) { return attributes.contains(name); });
}

// Calls `visit` with each object that states its version in 0.4.
void VisitVersioned(Json& attributes, const auto& visit) {
  for (const std::string_view name : kWithVersion) {
    const auto found = attributes.find(name);
    if (found == attributes.end()) continue;
    if (found->is_object()) visit(*found);
    if (!found->is_array()) continue;
    for (Json& each : *found) {
      if (each.is_object()) visit(each);
    }
  }
}

// The list; an empty one if it is none.
const Json& ListOrEmpty(const Json& list) {
  static const Json kEmpty = Json::array();
  return list.is_array() ? list : kEmpty;
}

bool Is(const Json& version, std::string_view wanted) {
  const std::string* const text = TextOf(version);
  return text != nullptr && (*text == wanted || text->starts_with(std::string(wanted) + "."));
}

std::string StaysAsItIs(const Json& version, std::string_view wanted) {
  return fmt::format("OME-Zarr {}: not shown as {}", version.is_null() ? "?" : Excerpt(version),
                     wanted);
}

}  // namespace

bool IsOme(const Json& attributes) {
  return attributes.contains(kOme) || HasAny(attributes, kOfOmeAlone);
}

OmeAttributes AsOme04(Json attributes) {
  const auto found = attributes.find(kOme);
  if (found == attributes.end() || !found->is_object()) return {std::move(attributes), {}};
  if (const Json& version = MemberOrNull(*found, kVersion); !Is(version, "0.5")) {
    return {attributes, {StaysAsItIs(version, "0.4")}};
  }
  Json ome = std::move(*found);
  ome.erase(kVersion);
  VisitVersioned(ome, [](Json& object) { object[kVersion] = "0.4"; });
  OmeAttributes shown{Json::object(), {}};
  for (auto& [name, value] : attributes.items()) {
    if (name != kOme) {
      shown.attributes[name] = std::move(value);
      continue;
    }
    for (auto& [member, content] : ome.items()) {
      if (attributes.contains(member)) {
        shown.notes.push_back(
            fmt::format("the attribute {} stands beside the one in ome, and is shown", member));
      } else {
        shown.attributes[member] = std::move(content);
      }
    }
  }
  return shown;
}

OmeAttributes AsOme05(Json attributes, bool below_ome) {
  const bool has_members =
      HasAny(attributes, kOfOmeAlone) || (below_ome && HasAny(attributes, kMembers));
  if (!has_members || attributes.contains(kOme)) return {std::move(attributes), {}};
  Json ome = {{kVersion, "0.5"}};
  Json others = Json::object();
  Json another;  // version
  for (const auto& [name, value] : attributes.items()) {
    const bool is_member = std::ranges::find(kMembers, name) != kMembers.end();
    (is_member ? ome : others)[name] = value;
  }
  VisitVersioned(ome, [&](Json& object) {
    const auto version = object.find(kVersion);
    if (version == object.end()) return;
    if (!Is(*version, "0.4")) another = *version;
    object.erase(version);
  });
  if (!another.is_null()) return {std::move(attributes), {StaysAsItIs(another, "0.5")}};
  others[kOme] = std::move(ome);
  return {std::move(others), {}};
}

std::vector<std::string> AxesIn04(const Json& attributes, std::string_view array) {
  for (const Json& image : ListOrEmpty(MemberOrNull(attributes, "multiscales"))) {
    const Json& version = MemberOrNull(image, kVersion);
    if (!version.is_null() && !Is(version, "0.4")) continue;
    const Json& sizes = ListOrEmpty(MemberOrNull(image, "datasets"));
    const bool has_array = std::ranges::any_of(sizes, [&](const Json& size) {
      const std::string* const path = TextOf(MemberOrNull(size, "path"));
      return path != nullptr && *path == array;
    });
    if (!has_array) continue;
    std::vector<std::string> names;
    for (const Json& axis : ListOrEmpty(MemberOrNull(image, "axes"))) {
      if (const std::string* const name = TextOf(MemberOrNull(axis, "name")))
        names.push_back(*name);
    }
    return names;
  }
  return {};
}

}  // namespace zarrfs
