#include "zarrcore/view/gdal_crs.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "zarrcore/store/store.h"
#include "zarrcore/view/v2_attributes.h"

namespace zarrfs {
namespace {

constexpr const char* kCrs = "_CRS";

// Returns the OGC URL for a code such as "EPSG:32633"; "" if the code has another form.
std::string AddressOf(const std::string& code) {
  const size_t colon = code.find(':');
  if (colon == 0 || colon == std::string::npos || colon + 1 == code.size()) return "";
  return fmt::format("http://www.opengis.net/def/crs/{}/0/{}", code.substr(0, colon),
                     code.substr(colon + 1));
}

// Returns the coordinate system in GeoZarr's `proj:*` attributes; null if none of them has a valid
// type.
Json ProjOf(const Json& attributes) {
  const Json& wkt = MemberOrNull(attributes, "proj:wkt2");
  if (TextOf(wkt) != nullptr && !TextOf(wkt)->empty()) return Json{{"wkt", wkt}};
  if (const Json& projjson = MemberOrNull(attributes, "proj:projjson"); projjson.is_object()) {
    return Json{{"projjson", projjson}};
  }
  const std::string* const code = TextOf(MemberOrNull(attributes, "proj:code"));
  const std::string address = code != nullptr ? AddressOf(*code) : "";
  return address.empty() ? Json() : Json{{"url", address}};
}

// Returns the path of the array or group that an entry of GeoZarr's `multiscales` describes: its
// member "asset", or "group" in drafts. "" if the entry has neither.
std::string_view AssetOf(const Json& entry) {
  for (const char* const name : {"asset", "group"}) {
    if (const std::string* const path = TextOf(MemberOrNull(entry, name))) return *path;
  }
  return "";
}

// True if a group's attribute `multiscales` lists the array at the path `below`, which is relative
// to the group, or the group that contains the array.
bool IsInPyramid(const Json& attributes, std::string_view below) {
  const Json& layout = MemberOrNull(MemberOrNull(attributes, "multiscales"), "layout");
  return layout.is_array() && std::ranges::any_of(layout, [&](const Json& entry) {
           const std::string_view asset = AssetOf(entry);
           return !asset.empty() && (below == asset || FolderOf(below) == asset);
         });
}

}  // namespace

Json GdalCrsOf(const Json& attributes) {
  Json crs = ProjOf(attributes);
  for (const char* const name : {"crs_wkt", "spatial_ref"}) {
    if (!crs.is_null()) break;
    const Json& wkt = MemberOrNull(attributes, name);
    if (TextOf(wkt) != nullptr && !TextOf(wkt)->empty()) crs = Json{{"wkt", wkt}};
  }
  return crs;
}

Json WithGdalCrs(Json attributes) {
  if (attributes.contains(kCrs)) return attributes;
  if (Json crs = GdalCrsOf(attributes); !crs.is_null()) attributes[kCrs] = std::move(crs);
  return attributes;
}

std::string GridMappingOf(const Json& attributes) {
  const std::string* const text = TextOf(MemberOrNull(attributes, "grid_mapping"));
  if (text == nullptr) return "";
  std::string name = text->substr(0, text->find(' '));
  if (name.ends_with(':')) name.pop_back();
  return name;
}

Json GdalCrsOfGroup(const Json& attributes, std::string_view below, const Json& dimensions) {
  const bool is_direct = below.find('/') == std::string_view::npos;
  if (!is_direct && !IsInPyramid(attributes, below)) return {};
  if (const Json& spatial = MemberOrNull(attributes, "spatial:dimensions"); spatial.is_array()) {
    const auto has = [&](const Json& name) {
      return std::ranges::find(dimensions, name) != dimensions.end();
    };
    if (!std::ranges::all_of(spatial, has)) return {};
  }
  return ProjOf(attributes);
}

bool IsSizeOf(const Json& attributes, std::string_view name) {
  return name.find('/') == std::string_view::npos && IsInPyramid(attributes, name);
}

Result<std::string> WithPlace(std::string_view text, const Json& crs, const Json& names) {
  auto attributes = ParseJson(text, ".zattrs");
  if (!attributes) return Fail(attributes);
  if (!crs.is_null()) (*attributes)[kCrs] = crs;
  if (!names.is_null()) (*attributes)[kDimensionsAttribute] = names;
  return DumpJson(*attributes);
}

}  // namespace zarrfs
