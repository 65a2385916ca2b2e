#include "zarrcore/net/redirection.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "zarrcore/net/guarded_address.h"
#include "zarrcore/net/remote_source.h"

namespace zarrfs {
namespace {

struct FreeUrl {
  void operator()(CURLU* url) const { curl_url_cleanup(url); }
};
struct FreeText {
  void operator()(char* text) const { curl_free(text); }
};

std::string PartOf(CURLU* url, CURLUPart part, unsigned flags = 0) {
  char* text = nullptr;
  if (curl_url_get(url, part, &text, flags) != CURLUE_OK) return "";
  const std::unique_ptr<char, FreeText> owned(text);
  return text;
}

// Scheme, host and port of an address, in lower case.
std::string OriginOf(const std::string& url) {
  const std::unique_ptr<CURLU, FreeUrl> parsed(curl_url());
  if (curl_url_set(parsed.get(), CURLUPART_URL, url.c_str(), 0) != CURLUE_OK) return "";
  std::string origin = PartOf(parsed.get(), CURLUPART_SCHEME) + "://" +
                       PartOf(parsed.get(), CURLUPART_HOST) + ":" +
                       PartOf(parsed.get(), CURLUPART_PORT, CURLU_DEFAULT_PORT);
  std::ranges::transform(origin, origin.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
  });
  return origin;
}

bool NamesVersion(std::string_view header) {
  return header.starts_with("If-Match:") || header.starts_with("If-Unmodified-Since:");
}

}  // namespace

std::optional<std::string> RedirectionOf(const HttpReply& reply, std::string_view url) {
  const long status = reply.status;
  const bool redirects =
      status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
  if (!redirects || reply.location.empty() || !IsHeaderText(reply.location)) return std::nullopt;
  const std::unique_ptr<CURLU, FreeUrl> target(curl_url());
  CURLU* const to = target.get();
  if (curl_url_set(to, CURLUPART_URL, std::string(url).c_str(), 0) != CURLUE_OK)
    return std::nullopt;
  // A relative Location is resolved against `url`.
  if (curl_url_set(to, CURLUPART_URL, reply.location.c_str(), CURLU_URLENCODE) != CURLUE_OK) {
    return std::nullopt;
  }
  const std::string scheme = PartOf(to, CURLUPART_SCHEME);
  if (scheme != "https" && (scheme != "http" || url.starts_with("https:"))) return std::nullopt;
  if (!PartOf(to, CURLUPART_USER).empty() || !PartOf(to, CURLUPART_PASSWORD).empty()) {
    return std::nullopt;
  }
  curl_url_set(to, CURLUPART_FRAGMENT, nullptr, 0);
  return PartOf(to, CURLUPART_URL);
}

bool Follows(const HttpReply& reply, const Verdict& verdict, std::string_view url, FetchJob& job) {
  const RemoteSource& source = job.origin.source;
  if (!source.options.follows_redirections || source.is_s3 || source.is_virtual) return false;
  // If the redirection only adds a slash, the key names a folder, and the verdict is kNotFound.
  const bool is_absent = verdict.error.code == ErrorCode::kNotFound;
  if (is_absent || job.redirections >= kMaxRedirections) return false;
  auto target = RedirectionOf(reply, url);
  if (!target) return false;
  job.redirected = *std::move(target);
  ++job.redirections;
  job.next = FetchJob::Clock::now();
  return true;
}

void Redirect(std::string url, HttpGet& get) {
  if (OriginOf(url) != OriginOf(get.url)) {
    std::erase_if(get.headers, [](const std::string& line) { return !NamesVersion(line); });
    get.uses_netrc = false;
    get.is_guarded = true;
    get.guard_host = HostIn(get.url);
  }
  get.url = std::move(url);
}

}  // namespace zarrfs
