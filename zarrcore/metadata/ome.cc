#include "zarrcore/metadata/ome.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>
#include <system_error>
#include <utility>

#include "zarrcore/metadata/ome06.h"
#include "zarrcore/metadata/ome_paths.h"
#include "zarrcore/store/store.h"

namespace zarrfs {
namespace {

using std::string_view_literals::operator""sv;

constexpr auto kOme = "ome";
constexpr auto kVersion = "version";

constexpr auto kMultiscales = "multiscales"sv;

// All members that OME-Zarr 0.4 defines.
constexpr std::array kMembers = {
    kMultiscales, "omero"sv,       "labels"sv, "plate"sv,
    "well"sv,     "image-label"sv, "series"sv, "bioformats2raw.layout"sv};
// Members that state their version in OME-Zarr 0.4. Each is an object, or a list of objects.
constexpr std::array kWithVersion = {kMultiscales, "omero"sv, "plate"sv, "well"sv, "image-label"sv};

// Calls `visit` with each object that states its version in OME-Zarr 0.4.
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

// Returns `list` if it is a JSON list, otherwise an empty list.
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

std::string ShownAs(const Json& version, std::string_view wanted) {
  return fmt::format("OME-Zarr {}: shown as {}", Excerpt(version), wanted);
}

// True if `list` is a non-empty list, and `is_one` is true for all its items.
bool IsListOf(const Json& list, const auto& is_one) {
  return list.is_array() && !list.empty() && std::ranges::all_of(list, is_one);
}

bool IsText(const Json& json) { return TextOf(json) != nullptr; }
bool HasPath(const Json& json) { return IsText(MemberOrNull(json, "path")); }

// True if `image` is a valid item of `multiscales`. Map pyramids written by ndpyramid are not
// OME-Zarr: their items have pixels_per_tile, and no axes.
bool IsPyramid(const Json& image) {
  const auto is_axis = [](const Json& axis) {
    return IsText(axis) || IsText(MemberOrNull(axis, "name"));
  };
  const Json& version = MemberOrNull(image, kVersion);
  const bool has_version = std::ranges::any_of(std::array{"0.1"sv, "0.2"sv, "0.3"sv, "0.4"sv},
                                               [&](auto old) { return Is(version, old); });
  return IsListOf(MemberOrNull(image, "datasets"), HasPath) &&
         (has_version || IsListOf(MemberOrNull(image, "axes"), is_axis)) &&
         MemberOrNull(image, "pixels_per_tile").is_null();
}

// True if the member `name` of `members` is part of OME-Zarr metadata. `members` are the attributes
// of a group, or the contents of `ome`.
bool IsMember(const Json& members, std::string_view name, const OmePlace& place, bool in_ome) {
  const Json& value = MemberOrNull(members, name);
  if (value.is_null()) return false;
  const auto is_image = [&] { return IsListOf(MemberOrNull(members, kMultiscales), IsPyramid); };
  if (name == kMultiscales) return is_image();
  if (name == "plate") return IsListOf(MemberOrNull(value, "wells"), HasPath);
  if (name == "well") return IsListOf(MemberOrNull(value, "images"), HasPath);
  if (name == "image-label" || name == "omero") return value.is_object() && is_image();
  if (name == "bioformats2raw.layout") return value.is_number_integer();
  if (name == "labels") {
    return IsListOf(value, IsText) && (in_ome || (place.below_ome && place.name == "labels"));
  }
  return name == "series" && IsListOf(value, IsText) &&
         (in_ome || (place.below_ome && place.name == "OME"));
}

bool HasMembers(const Json& members, const OmePlace& place, bool in_ome) {
  return std::ranges::any_of(kMembers,
                             [&](auto name) { return IsMember(members, name, place, in_ome); });
}

// True for versions from 0.5 on, such as "0.5", "0.6.dev1" and "1.0".
bool IsFrom05(const Json& version) {
  const std::string* const text = TextOf(version);
  int major = 0;
  int minor = 0;
  if (text == nullptr) return false;
  const char* const end = text->data() + text->size();
  const auto [dot, error] = std::from_chars(text->data(), end, major);
  if (error != std::errc() || dot == end || *dot != '.') return false;
  return std::from_chars(dot + 1, end, minor).ec == std::errc() &&
         (major > 0 || (major == 0 && minor >= 5));
}

// True if `ome` has the structure of OME-Zarr's attribute `ome`.
bool IsNamespace(const Json& ome) {
  return ome.is_object() &&
         (IsFrom05(MemberOrNull(ome, kVersion)) || HasMembers(ome, {}, /*in_ome=*/true));
}

}  // namespace

bool IsOme(const Json& attributes, const OmePlace& place) {
  return IsNamespace(MemberOrNull(attributes, kOme)) ||
         HasMembers(attributes, place, /*in_ome=*/false);
}

namespace {

constexpr size_t kMaxPaths = 1'000'000;

// Adds the strings in a list, or the paths of its objects, to `paths`.
void AddPaths(const Json& list, std::vector<std::string>& paths) {
  for (const Json& each : ListOrEmpty(list)) {
    const std::string* const path = TextOf(each.is_object() ? MemberOrNull(each, "path") : each);
    if (path != nullptr && IsValidKey(*path) && paths.size() < kMaxPaths) paths.push_back(*path);
  }
}

// Calls `visit` with the attributes, and with the contents of the attribute `ome` if that attribute
// belongs to OME-Zarr.
void VisitMembers(const Json& attributes, const auto& visit) {
  visit(attributes, /*in_ome=*/false);
  const Json& ome = MemberOrNull(attributes, kOme);
  if (IsNamespace(ome)) visit(ome, /*in_ome=*/true);
}

}  // namespace

std::vector<std::string> OmePaths(const Json& attributes, const OmePlace& place) {
  std::vector<std::string> paths;
  VisitMembers(attributes, [&](const Json& members, bool in_ome) {
    const auto has = [&](auto name) { return IsMember(members, name, place, in_ome); };
    for (const Json& image : ListOrEmpty(MemberOrNull(members, kMultiscales))) {
      if (has(kMultiscales)) AddPaths(MemberOrNull(image, "datasets"), paths);
    }
    if (has(kMultiscales)) paths.emplace_back("labels");
    if (has("labels"sv)) AddPaths(MemberOrNull(members, "labels"), paths);
    if (has("plate"sv)) AddPaths(MemberOrNull(members["plate"], "wells"), paths);
    if (has("well"sv)) AddPaths(MemberOrNull(members["well"], "images"), paths);
    if (has("bioformats2raw.layout"sv)) paths.emplace_back("OME");
  });
  return paths;
}

std::vector<std::string> OmeSeries(const Json& attributes) {
  std::vector<std::string> names;
  VisitMembers(attributes, [&](const Json& members, bool in_ome) {
    if (!IsMember(members, "series"sv, {.below_ome = true, .name = "OME"}, in_ome)) return;
    AddPaths(MemberOrNull(members, "series"), names);
  });
  return names;
}

OmeAttributes AsOme04(Json attributes) {
  const auto found = attributes.find(kOme);
  if (found == attributes.end() || !IsNamespace(*found)) return {std::move(attributes), {}};
  const Json version = MemberOrNull(*found, kVersion);
  OmeAttributes shown{Json::object(), {}};
  if (auto as05 = IsOme06(version) ? Ome06As05(*found) : std::nullopt) {
    *found = *std::move(as05);
    shown.notes.push_back(ShownAs(version, "0.4"));
  } else if (!version.is_null() && !Is(version, "0.5")) {
    return {attributes, {StaysAsItIs(version, "0.4")}};
  }
  Json ome = std::move(*found);
  ome.erase(kVersion);
  VisitVersioned(ome, [](Json& object) { object[kVersion] = "0.4"; });
  for (auto& [name, value] : attributes.items()) {
    if (name != kOme) {
      shown.attributes[name] = std::move(value);
      continue;
    }
    for (auto& [member, content] : ome.items()) {
      if (attributes.contains(member)) {
        shown.notes.push_back(fmt::format(
            "the attribute {} is shown instead of the member of ome with this name", member));
      } else {
        shown.attributes[member] = std::move(content);
      }
    }
  }
  return shown;
}

OmeAttributes Ome06AsOme05(Json attributes) {
  const auto found = attributes.find(kOme);
  if (found == attributes.end() || !found->is_object()) return {std::move(attributes), {}};
  const Json version = MemberOrNull(*found, kVersion);
  if (!IsOme06(version)) return {std::move(attributes), {}};
  auto as05 = Ome06As05(*found);
  if (!as05) return {std::move(attributes), {StaysAsItIs(version, "0.5")}};
  *found = *std::move(as05);
  return {std::move(attributes), {ShownAs(version, "0.5")}};
}

OmeAttributes AsOme05(Json attributes, const OmePlace& place) {
  if (attributes.contains(kOme) || !HasMembers(attributes, place, /*in_ome=*/false)) {
    return {std::move(attributes), {}};
  }
  Json ome = {{kVersion, "0.5"}};
  Json others = Json::object();
  Json another;  // the version that an object states, if it is not 0.4
  for (const auto& [name, value] : attributes.items()) {
    const bool is_known = std::ranges::find(kMembers, name) != kMembers.end();
    const bool is_member = is_known && IsMember(attributes, name, place, /*in_ome=*/false);
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
  for (const Json& image : ListOrEmpty(MemberOrNull(attributes, kMultiscales))) {
    const Json& version = MemberOrNull(image, kVersion);
    if (!IsPyramid(image) || (!version.is_null() && !Is(version, "0.4"))) continue;
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
