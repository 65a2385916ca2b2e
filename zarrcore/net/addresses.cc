#include "zarrcore/net/addresses.h"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <string_view>
#include <utility>

namespace zarrfs {
namespace {

std::string TimeText(int64_t seconds) {
  const time_t time = seconds;
  std::tm parts = {};
  gmtime_r(&time, &parts);
  char text[sizeof "20130524T000000Z"];
  std::strftime(text, sizeof text, "%Y%m%dT%H%M%SZ", &parts);
  return text;
}

std::vector<std::string> LinesOf(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    while (line.ends_with('\r') || line.ends_with(' ')) line.remove_suffix(1);
    if (!line.empty() && !line.starts_with('#')) lines.emplace_back(line);
  }
  return lines;
}

bool HasPath(std::string_view url) { return url.find('/', url.find("://") + 3) != url.npos; }

void AddCondition(const FetchRequest& request, std::vector<std::string>& headers) {
  if (!request.is_conditional) return;
  const std::string& etag = request.condition;
  if (etag.starts_with('"')) {
    headers.push_back("If-Match: " + etag);
  } else if (request.modified_ns > 0) {
    const time_t time = request.modified_ns / 1'000'000'000;
    std::tm parts = {};
    gmtime_r(&time, &parts);
    char text[64];
    std::strftime(text, sizeof text, "%a, %d %b %Y %H:%M:%S GMT", &parts);
    headers.push_back(fmt::format("If-Unmodified-Since: {}", text));
  }
}

}  // namespace

Addresses::Addresses(const RemoteSource& source) : source_(source), problem_(source.problem) {
  RemoteSource with_secrets = source;
  ReadSecrets(with_secrets);
  const SecretTexts& secrets = with_secrets.secrets;
  const auto lines_of = [this](const char* option, const std::string& file,
                               const std::string& text) {
    std::vector<std::string> lines;
    if (file.empty()) return lines;
    lines = LinesOf(text);
    if (lines.empty()) problem_ = fmt::format("{}={}: empty, or not readable", option, file);
    return lines;
  };
  headers_ = lines_of("headers", source.options.headers_file, secrets.headers.text);
  const auto lines = lines_of("query", source.options.query_file, secrets.query.text);
  if (!lines.empty()) query_ = lines.front().starts_with('?') ? lines[0].substr(1) : lines[0];
}

HttpGet Addresses::Of(const FetchRequest& request, const AwsKey* key, int64_t now_s) const {
  HttpGet get{.url = "", .headers = headers_, .range = {}, .into = {}};
  get.is_s3 = source_.is_s3;
  get.uses_netrc = !source_.is_s3 && !source_.is_virtual;
  get.is_guarded = source_.is_virtual;
  std::map<std::string, std::string> query;
  if (request.kind == FetchRequest::Kind::kList) {
    get.url = source_.list_url;
    query = ListQuery(request);
  } else {
    get.url = source_.url;
    if (!request.key.empty()) get.url += '/' + PercentEncode(request.key);
    AddCondition(request, get.headers);
  }
  if (source_.options.requester_pays) get.headers.emplace_back("x-amz-request-payer: requester");
  if (key != nullptr) AddSignature(*key, now_s, query, get);
  if (!query.empty()) get.url += (HasPath(get.url) ? "?" : "/?") + CanonicalQuery(query);
  if (!query_.empty()) get.url += (query.empty() ? "?" : "&") + query_;
  return get;
}

std::map<std::string, std::string> Addresses::ListQuery(const FetchRequest& request) const {
  std::map<std::string, std::string> query = {{"list-type", "2"},
                                              {"delimiter", "/"},
                                              {"encoding-type", "url"},
                                              {"max-keys", std::to_string(request.max_keys)}};
  query["prefix"] = source_.prefix + request.key + (request.key.empty() ? "" : "/");
  if (!request.condition.empty()) query["continuation-token"] = request.condition;
  return query;
}

void Addresses::AddSignature(const AwsKey& key, int64_t now_s,
                             const std::map<std::string, std::string>& query, HttpGet& get) const {
  const size_t host = get.url.find("://") + 3;
  const size_t path = std::min(get.url.find('/', host), get.url.size());
  SignedRequest request{.host = get.url.substr(host, path - host),
                        .path = path < get.url.size() ? get.url.substr(path) : "/",
                        .query = query,
                        .headers = {}};
  if (source_.options.requester_pays) request.headers["x-amz-request-payer"] = "requester";
  const SigningScope scope{.region = source_.region, .time = TimeText(now_s)};
  for (std::string& line : Sign(request, key, scope)) {
    // The signature covers "Host", but libcurl adds that header itself.
    if (!line.starts_with("host:")) get.headers.push_back(std::move(line));
  }
}

}  // namespace zarrfs
