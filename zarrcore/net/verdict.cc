#include "zarrcore/net/verdict.h"

#include <algorithm>
#include <array>
#include <ctime>
#include <tuple>
#include <utility>

#include "zarrcore/base/printable.h"
#include "zarrcore/net/guarded_address.h"

namespace zarrfs {
namespace {

using Kind = Verdict::Kind;

// Last-Modified has a resolution of seconds, and web servers derive ETags from it. An object that
// is sent right after a modification may change again within the same second.
constexpr int64_t kModifiedGranularityNs = 2'000'000'000;

template <typename... Args>
Verdict Say(Kind kind, ErrorCode code, fmt::format_string<Args...> format, Args&&... args) {
  return {kind, {code, fmt::format(format, std::forward<Args>(args)...)}, false};
}

// Returns the text after the first `tag` in XML, up to the next tag; "" if the tag is missing.
std::string TextOf(std::string_view tag, std::string_view xml) {
  const size_t begin = xml.find(tag);
  if (begin == xml.npos) return "";
  xml.remove_prefix(begin + tag.size());
  return std::string(xml.substr(0, xml.find('<')));
}

std::string HostOf(std::string_view url) {
  const size_t host = url.find("://") + 3;
  return std::string(url.substr(host, url.find('/', host) - host));
}

// True if a server that requires TLS may have sent `reply` to a request without TLS. nginx, Apache
// and Go answer 400 with one of these pages. Other servers close the connection, or send a TLS
// alert.
bool ExpectsTls(const HttpReply& reply, std::string_view url) {
  if (!url.starts_with("http://")) return false;
  if (reply.status == 0) {
    return reply.code == CURLE_GOT_NOTHING || reply.failure.find("HTTP/0.9") != std::string::npos;
  }
  constexpr std::string_view kPages[] = {"plain HTTP request was sent to HTTPS port",
                                         "HTTP request to an HTTPS server",
                                         "plain HTTP to an SSL-enabled server port"};
  return reply.status == 400 && std::ranges::any_of(kPages, [&](std::string_view page) {
           return reply.text.find(page) != std::string::npos;
         });
}

// The proxy that libcurl's message about a failed connection names; "" if the message names `host`,
// which may end in a port.
std::string ProxyIn(std::string_view failure, std::string_view host) {
  constexpr std::string_view kBegin = "Failed to connect to ";
  constexpr std::string_view kPort = " port ";
  const size_t middle = failure.find(kPort);
  if (!failure.starts_with(kBegin) || middle == failure.npos) return "";
  const std::string_view name = failure.substr(kBegin.size(), middle - kBegin.size());
  std::string_view port = failure.substr(middle + kPort.size());
  port = port.substr(0, port.find(' '));
  const size_t colon = host.rfind(':');
  const bool has_port = colon != host.npos && !host.ends_with(']');
  const bool is_host =
      host.find(name) != host.npos && (!has_port || host.substr(colon + 1) == port);
  return is_host ? "" : fmt::format("{}:{}", name, port);
}

// Returns the verdict on a missing or incomplete response.
Verdict JudgeFailure(const HttpReply& reply, const RemoteSource& source, std::string_view what,
                     std::string_view url) {
  const std::string host = HostOf(url);
  if (!reply.refused.empty() && !source.is_virtual) {
    return Say(Kind::kError, ErrorCode::kPermissionDenied,
               "{}: a redirection to {} leads to the address {}, which is not followed: mount that "
               "address if you trust it",
               what, host, reply.refused);
  }
  if (!reply.refused.empty()) {
    return Say(Kind::kError, ErrorCode::kPermissionDenied,
               "{}: {} leads to the address {}; virtual chunks are read there only if virtual= "
               "has the address itself as its host",
               what, host, reply.refused);
  }
  if (ExpectsTls(reply, url)) {
    return Say(Kind::kAgain, ErrorCode::kIo,
               "{}: {} sends no response to HTTP without TLS ({}): does it expect https://?", what,
               host, reply.failure);
  }
  switch (reply.code) {
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_ISSUER_ERROR:
    case CURLE_SSL_CERTPROBLEM:
      return Say(Kind::kError, ErrorCode::kPermissionDenied,
                 "{}: the certificate of {} is not trusted ({}); SSL_CERT_FILE=FILE names further "
                 "authorities",
                 what, host, reply.failure);
    case CURLE_SSL_CONNECT_ERROR:
      return Say(Kind::kAgain, ErrorCode::kIo,
                 "{}: the TLS handshake with {} failed ({}): does it expect http://?", what, host,
                 reply.failure);
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_URL_MALFORMAT:
      return Say(Kind::kError, ErrorCode::kInvalidArgument, "{}: {}", what, reply.failure);
    case CURLE_COULDNT_RESOLVE_PROXY:
      return Say(Kind::kAgain, ErrorCode::kIo,
                 "{}: {}; the environment (https_proxy, http_proxy, no_proxy) says whether and "
                 "which proxy is used",
                 what, reply.failure);
    case CURLE_COULDNT_RESOLVE_HOST:
      return Say(Kind::kAgain, ErrorCode::kIo,
                 "{}: the host {} was not found: is it spelled right?", what, host);
    case CURLE_COULDNT_CONNECT:
      if (const std::string proxy = ProxyIn(reply.failure, host); !proxy.empty()) {
        return Say(Kind::kAgain, ErrorCode::kIo,
                   "{}: the proxy {} does not accept connections ({}); the environment "
                   "(https_proxy, http_proxy, no_proxy) says whether and which proxy is used",
                   what, proxy, reply.failure);
      }
      return Say(Kind::kAgain, ErrorCode::kIo, "{}: {} does not accept connections ({})", what,
                 host, reply.failure);
    case CURLE_OPERATION_TIMEDOUT:
      return Say(Kind::kAgain, ErrorCode::kTimedOut, "{}: {} does not answer ({})", what, host,
                 reply.failure);
    default:
      return Say(Kind::kAgain, ErrorCode::kIo, "{}: the transfer from {} failed ({})", what, host,
                 reply.code != CURLE_OK ? reply.failure : "the response ended too early");
  }
}

Verdict JudgeBytes(const HttpReply& reply, const RemoteSource& source, std::string_view what,
                   std::string_view url) {
  // A server that sends the whole object does not support ranges. A server that answers a suffix
  // range with another range may not support suffixes. Any other range, and contradictory headers,
  // are errors that may be transient.
  if (reply.is_contradictory || (reply.is_other_range && !reply.of_suffix)) {
    return Say(Kind::kAgain, ErrorCode::kIo, "{}: {} sends {}", what, HostOf(url), reply.wrong);
  }
  if (!reply.wrong.empty()) {
    return Say(Kind::kError, ErrorCode::kUnsupported, "{}: {} sends {}", what, HostOf(url),
               reply.wrong);
  }
  if (!reply.is_whole) return JudgeFailure(reply, source, what, url);
  if (reply.is_encoded && !source.is_s3) {
    return Say(Kind::kError, ErrorCode::kUnsupported,
               "{}: {} sends it compressed, although that was not requested", what, HostOf(url));
  }
  return {};
}

// Returns the offset of the path in `url`.
size_t PathOf(std::string_view url) {
  return std::min(url.find('/', url.find("://") + 3), url.size());
}

bool IsSameOrigin(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  return std::ranges::equal(a, b, {}, lower, lower);
}

// True if the server seems to be behind a TLS proxy. Such a server knows neither its public scheme
// nor its public port, so it redirects to its internal ones.
bool IsBehindProxy(std::string_view there, std::string_view url) {
  return url.starts_with("https://") && there.starts_with("http://") &&
         IsSameOrigin(HostIn(there), HostIn(url));
}

// True if the redirect only adds a slash, on the same server, so the key names a folder of a web
// server. A redirect to another server proves nothing.
bool AddsSlash(std::string_view location, std::string_view url) {
  const size_t path = PathOf(url);
  std::string there(location.substr(0, location.find('?')));
  if (there.starts_with("//")) return false;  // the address names another host
  if (!there.starts_with('/')) {
    if (there.find("://") == there.npos) return false;
    there = WithoutDefaultPort(there);
    const std::string_view origin = std::string_view(there).substr(0, PathOf(there));
    if (!IsSameOrigin(origin, url.substr(0, path)) && !IsBehindProxy(there, url)) return false;
    there.erase(0, PathOf(there));
  }
  const std::string with_slash = std::string(url.substr(path, url.find('?') - path)) + '/';
  return PercentDecode(there, /*plus_is_blank=*/false) ==
         PercentDecode(with_slash, /*plus_is_blank=*/false);
}

// The option that sets the region of a bucket, up to its "=", for messages.
std::string_view RegionOption(const RemoteSource& source) {
  return source.is_virtual ? "virtual_file=, with region=" : "region=";
}

Verdict JudgeRedirection(const HttpReply& reply, const RemoteSource& source, std::string_view what,
                         std::string_view url) {
  if (source.is_virtual && reply.bucket_region.empty()) {
    return Say(Kind::kError, ErrorCode::kIo,
               "{}: {} redirects to '{}', which is never followed for virtual chunks", what,
               HostOf(url), AsciiExcerpt(reply.location.substr(0, reply.location.find('?'))));
  }
  if (!reply.bucket_region.empty() && reply.bucket_region != source.region) {
    return Say(Kind::kError, ErrorCode::kIo, "{}: the bucket is in another region: use {}{}", what,
               RegionOption(source), AsciiExcerpt(reply.bucket_region));
  }
  if (!source.is_s3 && AddsSlash(reply.location, url)) {
    return Say(Kind::kError, ErrorCode::kNotFound, "{}: no such object", what);
  }
  // The address is shown only up to the '?', because a signature may follow.
  return Say(
      Kind::kError, ErrorCode::kIo,
      "{}: {} redirects to '{}' (not followed): mount that address if you trust it{}", what,
      HostOf(url), AsciiExcerpt(reply.location.substr(0, reply.location.find('?'))),
      source.is_s3 || source.options.follows_redirections ? "" : ", or use redirects=follow");
}

// Judges an S3 error whose `code` is about the request, not about the object. Returns an empty
// verdict for any other code.
Verdict JudgeS3Code(const HttpReply& reply, const std::string& code, const RemoteSource& source,
                    std::string_view what, std::string_view url) {
  // MinIO sends InvalidTokenId.
  constexpr std::array<std::string_view, 5> kExpired = {"ExpiredToken", "TokenRefreshRequired",
                                                        "InvalidToken", "ExpiredTokenException",
                                                        "InvalidTokenId"};
  if (std::ranges::find(kExpired, code) != kExpired.end()) {
    return Say(Kind::kOtherKey, ErrorCode::kPermissionDenied,
               "{}: {} does not accept the session token ({}): get new credentials", what,
               HostOf(url), code);
  }
  if (code == "RequestTimeTooSkewed") {
    return Say(
        Kind::kOtherTime, ErrorCode::kPermissionDenied,
        "{}: this machine's clock is wrong, so the server refuses its signatures: set the clock "
        "(timedatectl)",
        what);
  }
  // versitygw sends XAdminUserNotFound.
  if (code == "InvalidAccessKeyId" || code == "XAdminUserNotFound") {
    return Say(Kind::kOtherKey, ErrorCode::kPermissionDenied,
               "{}: {} does not know the access key: are the credentials those of this service?",
               what, HostOf(url));
  }
  if (code == "SignatureDoesNotMatch") {
    return Say(Kind::kError, ErrorCode::kPermissionDenied,
               "{}: {} does not accept the signature: is the secret key right?", what, HostOf(url));
  }
  if (code == "NoSuchBucket") {
    return Say(Kind::kError, ErrorCode::kIo, "{}: there is no such bucket at {}", source.name,
               HostOf(url));
  }
  if (code == "AuthorizationHeaderMalformed" || code == "IllegalLocationConstraintException") {
    std::string hint = AsciiExcerpt(reply.bucket_region);
    if (hint.empty()) hint = AsciiExcerpt(TextOf("<Region>", reply.text));
    if (hint.empty()) hint = "REGION";
    return Say(Kind::kError, ErrorCode::kIo, "{}: the bucket is not in the region {}: use {}{}",
               what, source.region, RegionOption(source), hint);
  }
  if (code == "RequestTimeout" || code == "SlowDown" || code == "InternalError") {
    return Say(Kind::kAgain, ErrorCode::kIo, "{}: {} answers {}", what, HostOf(url), code);
  }
  return {};
}

std::string HintForVirtual(const RemoteSource& source) {
  return source.has_credentials()
             ? ""
             : "; this prefix is read without credentials: virtual_file= can name some";
}

// The mount option that supplied the credentials sent to the web server, as `name=file`; "" if no
// credentials were sent.
std::string SecretsOf(const RemoteSource& source) {
  const auto& [query, headers] = std::tie(source.options.query_file, source.options.headers_file);
  if (!query.empty()) return fmt::format("query={}", query);
  return headers.empty() ? "" : fmt::format("headers={}", headers);
}

Verdict JudgeForbidden(const std::string& code, const RemoteSource& source, std::string_view what,
                       std::string_view url) {
  const bool is_about_object = !source.is_s3 || code.empty() || code == "AccessDenied";
  if (source.options.forbidden_is_absent && is_about_object) {
    return Say(Kind::kError, ErrorCode::kNotFound, "{}: no such object (absent=403)", what);
  }
  std::string hint;
  if (source.is_virtual) {
    hint = HintForVirtual(source);
  } else if (source.is_s3 && is_about_object) {
    if (source.options.anonymous) hint = "; is the bucket public? anonymous signs nothing";
    hint +=
        "; without the permission to list the bucket, the server also refuses objects that do not "
        "exist: absent=403 treats them as absent";
  } else if (is_about_object && !SecretsOf(source).empty()) {
    hint = fmt::format("; has the secret in {} expired?", SecretsOf(source));
  } else if (is_about_object) {
    hint = "; if this server refuses objects that do not exist, absent=403 treats them as absent";
  }
  return Say(Kind::kError, ErrorCode::kPermissionDenied, "{}: {} refuses to send it{}{}", what,
             HostOf(url), code.empty() ? "" : fmt::format(" ({})", AsciiExcerpt(code)), hint);
}

bool MayPass(long status) {
  return status == 408 || status == 425 || status == 429 || status == 500 || status == 502 ||
         status == 503 || status == 504 || status == 509;
}

}  // namespace

std::optional<Version> LastingVersion(const HttpReply& reply, const RemoteSource& source) {
  const int64_t date_s = reply.date_s > 0 ? reply.date_s : std::time(nullptr);
  const bool may_change_unseen =
      !source.is_s3 && reply.modified_ns > 0 &&
      date_s * 1'000'000'000 - reply.modified_ns < kModifiedGranularityNs;
  const bool has_name = reply.etag.starts_with('"') || reply.modified_ns != 0;
  if (!reply.size || may_change_unseen || !has_name) return std::nullopt;
  return Version{.size = *reply.size, .mtime_ns = reply.modified_ns, .etag = reply.etag};
}

std::string S3ErrorCode(std::string_view text) { return TextOf("<Code>", text); }

Verdict Judge(const HttpReply& reply, const RemoteSource& source, std::string_view what,
              std::string_view url) {
  const long status = reply.status;
  if (status == 200 || status == 206) return JudgeBytes(reply, source, what, url);
  const std::string code = source.is_s3 ? S3ErrorCode(reply.text) : "";
  if (status == 0 || (reply.code != CURLE_OK && code.empty())) {
    return JudgeFailure(reply, source, what, url);
  }
  if (Verdict said = JudgeS3Code(reply, code, source, what, url); said.kind != Kind::kBytes) {
    said.slow_down = status == 503 || status == 429;
    return said;
  }
  if (status == 416) return {Kind::kNoRange, {}, false};
  if (status == 412) {
    return Say(Kind::kError, ErrorCode::kStale, "{}: replaced by another version", what);
  }
  if (status >= 300 && status < 400) return JudgeRedirection(reply, source, what, url);
  if ((status == 404 || status == 410) && (!source.is_s3 || code == "NoSuchKey")) {
    return Say(Kind::kError, ErrorCode::kNotFound, "{}: no such object", what);
  }
  if (status == 403) return JudgeForbidden(code, source, what, url);
  if (status == 401) {
    return Say(Kind::kError, ErrorCode::kPermissionDenied, "{}: {} requires a login{}", what,
               HostOf(url),
               source.is_virtual ? HintForVirtual(source)
               : SecretsOf(source).empty()
                   ? ": use ~/.netrc, or headers=FILE with a token"
                   : fmt::format("; has the secret in {} expired?", SecretsOf(source)));
  }
  if (ExpectsTls(reply, url)) {
    return Say(Kind::kError, ErrorCode::kIo,
               "{}: {} answers 400 to HTTP without TLS: does it expect https://?", what,
               HostOf(url));
  }
  // Servers that do not support suffix ranges answer 501; web servers also answer 400, and Azurite
  // 500.
  const bool is_unsupported =
      reply.of_suffix && (status == 501 || (!source.is_s3 && (status == 400 || status == 500)));
  Verdict verdict =
      Say(MayPass(status) && !is_unsupported ? Kind::kAgain : Kind::kError,
          is_unsupported ? ErrorCode::kUnsupported : ErrorCode::kIo, "{}: {} answers {}{}", what,
          HostOf(url), status, code.empty() ? "" : fmt::format(" ({})", AsciiExcerpt(code)));
  verdict.slow_down = status == 503 || status == 429;
  return verdict;
}

}  // namespace zarrfs
