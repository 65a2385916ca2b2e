#include "zarrcore/metadata/decisive.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "zarrcore/metadata/json_scanner.h"

namespace zarrfs {
namespace {

// Attributes whose values decide how a view shows the fill value; see v2_attributes.cc.
constexpr std::array<std::string_view, 3> kDecisiveAttributes = {"_FillValue", "missing_value",
                                                                 "dtype"};

// Adds the names of all attributes and the values of kDecisiveAttributes to the digest.
bool AddAttributes(JsonScanner& scanner, DigestBuilder& digest) {
  return scanner.Object([&](std::string_view name) {
    // Refuse an escaped name, because it may spell the name of a decisive attribute.
    if (name.find('\\') != name.npos) return false;
    digest.Add(name);
    name = name.substr(1, name.size() - 2);
    const size_t begin = scanner.position();
    if (!scanner.Value(2)) return false;
    if (std::ranges::find(kDecisiveAttributes, name) != kDecisiveAttributes.end()) {
      digest.Add(scanner.From(begin));
    }
    return true;
  });
}

}  // namespace

std::optional<Digest> DecisiveDigest(std::string_view text) {
  if (text.size() > kMaxDecisiveText) return std::nullopt;
  JsonScanner scanner(text);
  DigestBuilder digest;
  // If "node_type" occurs more than once, readers use the last occurrence. The node counts as an
  // array only if every occurrence says "array".
  bool is_array = false;
  bool is_other = false;
  const bool is_plain = scanner.Object([&](std::string_view name) {
    digest.Add(name);
    const size_t begin = scanner.position();
    if (name == "\"attributes\"") return AddAttributes(scanner, digest);
    if (!scanner.Value(1)) return false;
    std::string_view value = scanner.From(begin);
    digest.Add(value);
    if (name == "\"node_type\"") {
      value.remove_prefix(std::min(value.find_first_not_of(" \n\t\r"), value.size()));
      (value == "\"array\"" ? is_array : is_other) = true;
    }
    return true;
  });
  if (!is_plain || !scanner.IsAtEnd()) return std::nullopt;
  // All attributes of a group affect how the nodes below the group are shown, so add the whole
  // document.
  if (!is_array || is_other) digest.Add(text);
  return digest.Finish();
}

}  // namespace zarrfs
