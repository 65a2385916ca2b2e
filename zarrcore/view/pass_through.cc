#include "zarrcore/view/pass_through.h"

#include <algorithm>
#include <vector>

namespace zarrfs {
namespace {

bool IsAscii(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

// Returns `zarray`, the text of a .zarray, with another separator of chunk keys. Invalid JSON stays
// unchanged.
std::string WithSeparator(const std::string& zarray, char separator) {
  auto json = ParseJson(zarray, ".zarray");
  if (!json) return zarray;
  (*json)["dimension_separator"] = std::string(1, separator);
  return DumpJson(*json);
}

// True if the JSON objects `a` and `b` have members with the same names, and `are_same` is true for
// each name and its two values. The members are sorted first, because looking up a name in a Json
// object searches all its members.
template <typename AreSame>
bool HaveSameMembers(const Json& a, const Json& b, AreSame are_same) {
  if (a.size() != b.size()) return false;
  using Member = Json::object_t::value_type;
  const auto name = [](const Member* member) -> const std::string& { return member->first; };
  const auto sorted = [&](const Json& object) {
    std::vector<const Member*> members;
    for (const Member& member : object.get_ref<const Json::object_t&>()) members.push_back(&member);
    std::ranges::sort(members, {}, name);
    return members;
  };
  return std::ranges::equal(sorted(a), sorted(b), [&](const Member* one, const Member* other) {
    return one->first == other->first && are_same(one->first, one->second, other->second);
  });
}

// True if two JSON values are equal, regardless of the order of members. 1 and 1.0 are different.
bool AreEqual(const Json& a, const Json& b) {
  if (a.is_number() && b.is_number()) return a.is_number_float() == b.is_number_float() && a == b;
  if (a.type() != b.type()) return false;
  if (a.is_array()) return std::ranges::equal(a, b, AreEqual);
  if (!a.is_object()) return a == b;
  return HaveSameMembers(a, b, [](const std::string&, const Json& one, const Json& other) {
    return AreEqual(one, other);
  });
}

// True if readers interpret both fill values as the same value. Readers accept the strings that the
// specification defines, and any spelling of a number, except an integer with a decimal point.
bool IsTheSameFill(const Json& rewritten, const Json& stored) {
  if (NonFinite(rewritten) || NonFinite(stored)) return false;
  if (rewritten.is_number() && stored.is_number()) {
    return rewritten.is_number_float() || !stored.is_number_float();
  }
  if (rewritten.is_array() && stored.is_array()) {
    return std::ranges::equal(rewritten, stored, IsTheSameFill);
  }
  if (AreEqual(rewritten, stored)) return true;
  return rewritten.is_string() && stored.is_string() &&
         stored.get_ref<const std::string&>().starts_with("0x");
}

// True if two extensions, such as codecs, are the same. An empty configuration is the same as none.
bool IsTheSameExtension(const Json& rewritten, const Json& stored) {
  if (!rewritten.is_object() || !stored.is_object()) return AreEqual(rewritten, stored);
  const auto without_empty = [](Json extension) {
    const auto found = extension.find("configuration");
    if (found != extension.end() && found->is_object() && found->empty()) extension.erase(found);
    return extension;
  };
  return AreEqual(without_empty(rewritten), without_empty(stored));
}

bool IsTheSameKeyEncoding(const Json& rewritten, const Json& stored) {
  if (IsTheSameExtension(rewritten, stored)) return true;
  if (!stored.is_object() || stored.size() != 1) return false;
  // A stored chunk key encoding that has only a name has the default separator of that encoding.
  const Json default_encoding = {{"name", "default"}, {"configuration", {{"separator", "/"}}}};
  const Json v2_encoding = {{"name", "v2"}, {"configuration", {{"separator", "."}}}};
  const Json& name = MemberOrNull(stored, "name");
  return (name == "default" && AreEqual(rewritten, default_encoding)) ||
         (name == "v2" && AreEqual(rewritten, v2_encoding));
}

}  // namespace

ArrayView PassThroughV2(const ArrayMetadata& metadata, const ViewContext& context) {
  ArrayView view;
  view.documents = StoredV2(*metadata.stored, ".zarray");
  view.encoding.as_stored = true;
  // An array of rank 0 has one chunk, "0", so the separator does not matter.
  if (metadata.rank() == 0) return view;
  view.naming.separator = metadata.key_encoding.separator;
  if (context.forced_separator != '\0' && context.forced_separator != view.naming.separator) {
    view.naming.separator = context.forced_separator;
    Document& zarray = view.documents.front();
    zarray.bytes = WithSeparator(zarray.bytes, context.forced_separator);
  }
  return view;
}

std::vector<Document> StoredV2(const StoredDocuments& stored, std::string_view name) {
  std::vector<Document> documents = {{std::string(name), stored.document}};
  if (stored.zattrs) documents.push_back({".zattrs", *stored.zattrs});
  return documents;
}

std::string InsideJson(std::string_view text, JsonEncoding encoding) {
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  const auto json = ParseJson(text, "");
  if (!json) return JsonText(text);
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  std::string inside = encoding == JsonEncoding::kUtf8 || IsAscii(text)
                           ? std::string(text)
                           : DumpJson(*json, JsonEncoding::kAscii);
  inside.resize(inside.find_last_not_of(" \t\r\n") + 1);
  return inside;
}

bool MeansTheSame(const Json& rewritten, const Json& stored) {
  const auto is_same = [](const std::string& name, const Json& one, const Json& other) {
    if (name == "fill_value") return IsTheSameFill(one, other);
    if (name == "chunk_key_encoding") return IsTheSameKeyEncoding(one, other);
    if (name == "codecs" && one.is_array() && other.is_array()) {
      return std::ranges::equal(one, other, IsTheSameExtension);
    }
    return AreEqual(one, other);
  };
  return HaveSameMembers(rewritten, stored, is_same);
}

}  // namespace zarrfs
