#include "zarrcore/net/listing_page.h"

#include <cstring>
#include <pugixml.hpp>

#include "zarrcore/base/memory_budget.h"
#include "zarrcore/net/remote_source.h"

namespace zarrfs {
namespace {

// Longer ones are not valid tokens.
constexpr size_t kMaxContinuation = 8u << 10;
// Maximum memory of the tree per byte of XML: that of "<a/>".
constexpr uint64_t kTreePerByte = 32;

}  // namespace

Result<ListingPage> ParseListingPage(std::string_view xml, std::string_view folder) {
  const auto damaged = [&](std::string_view what) {
    return Fail(ErrorCode::kDamaged, "{}: the listing of this folder {}", folder, what);
  };
  const auto memory = ProcessMemory().Take(xml.size() * kTreePerByte);
  if (!memory) return Fail(memory);
  pugi::xml_document document;
  if (!document.load_buffer(xml.data(), xml.size(), pugi::parse_default | pugi::parse_ws_pcdata,
                            pugi::encoding_utf8)) {
    return damaged("is no XML");
  }
  const pugi::xml_node result = document.document_element();
  if (std::strcmp(result.name(), "ListBucketResult") != 0) return damaged("is not one of S3");
  const bool is_encoded = std::strcmp(result.child_value("EncodingType"), "url") == 0;
  const auto text_of = [&](const char* text) {
    return is_encoded ? PercentDecode(text) : std::string(text);
  };
  // The response repeats the request: the folder's prefix in the bucket.
  const std::string prefix = text_of(result.child_value("Prefix"));
  if (!folder.empty() && !prefix.ends_with(std::string(folder) + '/')) {
    return damaged("is that of another folder");
  }
  ListingPage page;
  const auto add = [&](std::string_view key, bool is_folder) {
    page.has_any = true;
    if (!key.starts_with(prefix)) return false;
    key.remove_prefix(prefix.size());
    if (is_folder) {
      if (!key.ends_with('/')) return false;
      key.remove_suffix(1);
    }
    if (key.find('/') != key.npos) return is_folder;  // "//" is not a valid key
    // An object and a folder of the same name are one entry; keys below it can be found all the
    // same.
    if (!key.empty() && IsValidKey(key)) {
      page.entries.push_back({.name = std::string(key), .is_folder = is_folder});
    }
    return true;
  };
  for (const pugi::xml_node node : result.children("Contents")) {
    if (!add(text_of(node.child_value("Key")), false)) return damaged("has keys of another folder");
  }
  for (const pugi::xml_node node : result.children("CommonPrefixes")) {
    if (!add(text_of(node.child_value("Prefix")), true)) {
      return damaged("has keys of another folder");
    }
  }
  const bool is_cut = std::strcmp(result.child_value("IsTruncated"), "true") == 0;
  page.continuation = result.child_value("NextContinuationToken");
  if (is_cut && page.continuation.empty()) {
    return damaged("is truncated without a continuation token");
  }
  if (page.continuation.size() > kMaxContinuation) {
    return damaged("has an oversized continuation token");
  }
  if (!is_cut) page.continuation.clear();
  return page;
}

}  // namespace zarrfs
