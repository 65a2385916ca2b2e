#include "zarrcore/view/gdal_crs.h"

#include <fmt/format.h>

#include <array>
#include <string>
#include <utility>

namespace zarrfs {
namespace {

// The address of "EPSG:32633" at the OGC; "" if the code has another form.
std::string AddressOf(const std::string& code) {
  const size_t colon = code.find(':');
  if (colon == 0 || colon == std::string::npos || colon + 1 == code.size()) return "";
  return fmt::format("http://www.opengis.net/def/crs/{}/0/{}", code.substr(0, colon),
                     code.substr(colon + 1));
}

}  // namespace

Json WithGdalCrs(Json attributes) {
  constexpr const char* kCrs = "_CRS";
  if (attributes.contains(kCrs)) return attributes;
  for (const char* const name : {"proj:wkt2", "crs_wkt", "spatial_ref"}) {
    const Json wkt = MemberOrNull(attributes, name);
    if (TextOf(wkt) == nullptr || TextOf(wkt)->empty()) continue;
    attributes[kCrs] = Json{{"wkt", wkt}};
    return attributes;
  }
  if (const Json projjson = MemberOrNull(attributes, "proj:projjson"); projjson.is_object()) {
    attributes[kCrs] = Json{{"projjson", projjson}};
    return attributes;
  }
  const std::string* const code = TextOf(MemberOrNull(attributes, "proj:code"));
  if (const std::string address = code != nullptr ? AddressOf(*code) : ""; !address.empty()) {
    attributes[kCrs] = Json{{"url", address}};
  }
  return attributes;
}

}  // namespace zarrfs
