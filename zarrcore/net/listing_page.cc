#include "zarrcore/net/listing_page.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <ctime>
#include <pugixml.hpp>

#include "zarrcore/base/memory_budget.h"
#include "zarrcore/net/remote_source.h"

namespace zarrfs {
namespace {

// Maximum length of a continuation token. Longer tokens are invalid.
constexpr size_t kMaxContinuation = 8u << 10;
// Maximum length of an ETag. Longer ETags are not used.
constexpr size_t kMaxEtag = 128;
// Maximum memory of the parsed tree per byte of XML; a document of only "<a/>" elements needs the
// most.
constexpr uint64_t kTreePerByte = 32;

// Parses a LastModified time. Truncates the time to seconds, as in the header Last-Modified.
std::optional<int64_t> ParseTime(const char* text) {
  std::tm time = {};
  const char* const rest = strptime(text, "%Y-%m-%dT%H:%M:%S", &time);
  if (rest == nullptr || (*rest != '.' && *rest != 'Z')) return std::nullopt;
  const int64_t seconds = timegm(&time);
  return seconds > 0 ? std::optional(seconds * 1'000'000'000) : std::nullopt;
}

std::optional<Version> VersionOf(const pugi::xml_node& object) {
  Version version;
  const std::string_view size = object.child_value("Size");
  const auto parsed = std::from_chars(size.data(), size.data() + size.size(), version.size);
  if (size.empty() || parsed.ec != std::errc() || parsed.ptr != size.data() + size.size()) {
    return std::nullopt;
  }
  version.etag = object.child_value("ETag");
  const auto is_of_etag = [](char c) { return c > ' ' && c < 0x7f && c != '"'; };
  const size_t length = version.etag.size();
  if (length < 3 || length > kMaxEtag || version.etag.front() != '"' ||
      version.etag.back() != '"' ||
      !std::all_of(version.etag.begin() + 1, version.etag.end() - 1, is_of_etag)) {
    return std::nullopt;
  }
  const auto modified_ns = ParseTime(object.child_value("LastModified"));
  if (!modified_ns) return std::nullopt;
  version.mtime_ns = version.ctime_ns = *modified_ns;
  return version;
}

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
    return damaged("is not XML");
  }
  const pugi::xml_node result = document.document_element();
  if (std::strcmp(result.name(), "ListBucketResult") != 0) return damaged("is not one of S3");
  const bool is_encoded = std::strcmp(result.child_value("EncodingType"), "url") == 0;
  const auto text_of = [&](const char* text) {
    return is_encoded ? PercentDecode(text) : std::string(text);
  };
  // The response repeats the request's prefix, which is the folder's path in the bucket.
  const std::string prefix = text_of(result.child_value("Prefix"));
  if (!folder.empty() && !prefix.ends_with(std::string(folder) + '/')) {
    return damaged("is that of another folder");
  }
  ListingPage page;
  const auto add = [&](std::string_view key, const pugi::xml_node& node, bool is_folder) {
    page.has_any = true;
    if (!key.starts_with(prefix)) return false;
    key.remove_prefix(prefix.size());
    if (is_folder) {
      if (!key.ends_with('/')) return false;
      key.remove_suffix(1);
    }
    if (key.find('/') != key.npos) return is_folder;  // "//" is not a valid key
    // An object and a folder may have the same name. Both become entries.
    if (!key.empty() && IsValidKey(key)) {
      page.entries.push_back({.name = std::string(key), .is_folder = is_folder});
      page.versions.push_back(is_folder ? std::nullopt : VersionOf(node));
    }
    return true;
  };
  for (const pugi::xml_node node : result.children("Contents")) {
    if (!add(text_of(node.child_value("Key")), node, false))
      return damaged("has keys of another folder");
  }
  for (const pugi::xml_node node : result.children("CommonPrefixes")) {
    if (!add(text_of(node.child_value("Prefix")), node, true)) {
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
