#include "zarrcore/net/http_transfer.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

#include "zarrcore/base/number_text.h"
#include "zarrcore/net/aws_profile.h"
#include "zarrcore/net/guarded_address.h"

namespace zarrfs {
namespace {

// How many bytes of an error body are stored, which is enough for the name of the error.
constexpr size_t kMaxErrorText = 16u << 10;
// The maximum values of the headers Retry-After and Age, in seconds.
constexpr uint64_t kMaxRetryAfter = 3600;
constexpr uint64_t kMaxAge = 10ULL * 365 * 86400;

// Parses a number of seconds. Returns at most `most`; 0 if `text` is not a number.
int64_t ParseSeconds(std::string_view text, uint64_t most) {
  return static_cast<int64_t>(std::min(NumberFrom<uint64_t>(text).value_or(0), most));
}

std::string Lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

HttpTransfer::ContentRange ParseContentRange(std::string_view value) {
  constexpr std::string_view kBytes = "bytes ";
  if (!Lower(value.substr(0, kBytes.size())).starts_with(kBytes)) return {};
  const std::string_view range = WithoutBlanks(value.substr(kBytes.size()));
  const size_t dash = range.find('-');
  const size_t slash = range.find('/');
  if (slash == range.npos) return {};
  HttpTransfer::ContentRange parsed{.total = NumberFrom<uint64_t>(range.substr(slash + 1))};
  if (dash == range.npos || dash > slash) return parsed;
  parsed.first = NumberFrom<uint64_t>(range.substr(0, dash));
  parsed.last = NumberFrom<uint64_t>(range.substr(dash + 1, slash - dash - 1));
  return parsed;
}

// Parses a date. Returns Unix time in seconds; 0 if `text` is not a date, or its nanoseconds would
// overflow.
int64_t ParseDate(std::string_view text) {
  constexpr int64_t kMaxDate = 7'258'118'400;  // 2200
  const int64_t time = curl_getdate(std::string(text).c_str(), nullptr);
  return time > 0 && time < kMaxDate ? time : 0;
}

// The path of the system's CA bundle, for a libcurl that was built without a default path. "" if
// libcurl has a default path, or if no bundle was found.
std::string CertificatesOfSystem() {
  if (curl_version_info(CURLVERSION_NOW)->cainfo != nullptr) return "";
  for (const char* const file : {
           "/etc/ssl/certs/ca-certificates.crt",  // Debian, Ubuntu, Arch, Alpine
           "/etc/pki/tls/certs/ca-bundle.crt",    // Fedora, RHEL
           "/etc/ssl/ca-bundle.pem",              // SUSE
           "/etc/ssl/cert.pem",
       }) {
    if (access(file, R_OK) == 0) return file;
  }
  return "";
}

}  // namespace

bool IsHeaderText(std::string_view text) {
  return std::ranges::none_of(text, [](char c) { return (c >= 0 && c < ' ') || c == 0x7f; });
}

std::string CertificatesFile(bool is_s3) {
  if (std::string file = Environment("AWS_CA_BUNDLE"); is_s3 && !file.empty()) return file;
  for (const char* const name : {"SSL_CERT_FILE", "CURL_CA_BUNDLE", "AWS_CA_BUNDLE"}) {
    if (std::string file = Environment(name); !file.empty()) return file;
  }
  static const std::string of_system = CertificatesOfSystem();
  return of_system;
}

void HttpTransfer::Prepare(HttpGet get) {
  get_ = std::move(get);
  ForgetHeaders();
  decided_ = false;
  skip_ = said_ = due_ = heard_ = 0;
  failure_[0] = '\0';
  refused_.clear();
  headers_.reset();
  const auto add = [&](const std::string& line) {
    headers_.reset(curl_slist_append(headers_.release(), line.c_str()));
  };
  for (const std::string& line : get_.headers) add(line);
  add("Accept-Encoding: identity");

  // Uses a new handle, because before libcurl 8.1.1 a reused handle may read freed memory (curl
  // pull request 11103).
  handle_.reset(curl_easy_init());
  if (handle_ == nullptr) throw std::bad_alloc();
  CURL* const curl = handle_.get();
  const auto set = [curl](CURLoption option, auto value) { curl_easy_setopt(curl, option, value); };
  set(CURLOPT_URL, get_.url.c_str());
  set(CURLOPT_HTTPHEADER, headers_.get());
  set(CURLOPT_USERAGENT, "zarrfs");
  set(CURLOPT_PATH_AS_IS, 1L);
  set(CURLOPT_PROTOCOLS_STR, "http,https");
  set(CURLOPT_NETRC, static_cast<long>(get_.uses_netrc ? CURL_NETRC_OPTIONAL : CURL_NETRC_IGNORED));
  set(CURLOPT_NOSIGNAL, 1L);
  set(CURLOPT_CONNECTTIMEOUT, kConnectSeconds);
  set(CURLOPT_TIMEOUT_MS, static_cast<long>(std::max<int64_t>(get_.limit_ms, 1)));
  set(CURLOPT_LOW_SPEED_LIMIT, 1L);
  set(CURLOPT_LOW_SPEED_TIME, kStallSeconds);
  set(CURLOPT_TCP_KEEPALIVE, 1L);
  set(CURLOPT_BUFFERSIZE, 256L << 10);
  set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
  set(CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_2TLS));
  set(CURLOPT_PIPEWAIT, get_.url.starts_with("https:") ? 1L : 0L);
  if (!get_.proxy.empty()) UseProxy();
  set(CURLOPT_ERRORBUFFER, failure_);
  set(CURLOPT_HEADERFUNCTION, &OnHeader);
  set(CURLOPT_HEADERDATA, this);
  set(CURLOPT_WRITEFUNCTION, &OnBody);
  set(CURLOPT_WRITEDATA, this);
  if (get_.is_guarded) {
    set(CURLOPT_OPENSOCKETFUNCTION, &OnSocket);
    set(CURLOPT_OPENSOCKETDATA, this);
    // OnSocket() checks only new connections; OnRequest() also runs for a GET that reuses one.
    set(CURLOPT_PREREQFUNCTION, &OnRequest);
    set(CURLOPT_PREREQDATA, this);
  }
  if (const std::string file = CertificatesFile(get_.is_s3); !file.empty()) {
    set(CURLOPT_CAINFO, file.c_str());
  }
  if (get_.range && get_.range->length > 0) {
    const ByteRange& range = *get_.range;
    const std::string text =
        range.from_end ? fmt::format("-{}", range.length)
                       : fmt::format("{}-{}", range.offset, range.offset + (range.length - 1));
    set(CURLOPT_RANGE, text.c_str());
  }
}

void HttpTransfer::UseProxy() {
  CURL* const curl = handle_.get();
  curl_easy_setopt(curl, CURLOPT_PROXY, get_.proxy.c_str());
  curl_easy_setopt(curl, CURLOPT_NOPROXY, "");  // overrides no_proxy in the environment
  curl_easy_setopt(curl, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
  if (const std::string file = CertificatesFile(/*is_s3=*/false); !file.empty()) {
    curl_easy_setopt(curl, CURLOPT_PROXY_CAINFO, file.c_str());
  }
}

bool HttpTransfer::MaySendTo(const sockaddr& address, socklen_t length) {
  const std::string& known = get_.guard_host;
  if (MayConnect(address, length, known.empty() ? HostIn(get_.url) : known)) return true;
  refused_ = AddressText(address, length);
  return false;
}

curl_socket_t HttpTransfer::OnSocket(void* self, curlsocktype purpose, curl_sockaddr* address) {
  const bool may_connect =
      purpose == CURLSOCKTYPE_IPCXN &&
      static_cast<HttpTransfer*>(self)->MaySendTo(address->addr, address->addrlen);
  if (!may_connect) return CURL_SOCKET_BAD;
  return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

int HttpTransfer::OnRequest(void* self, char* address, char* /*own_address*/, int /*port*/,
                            int /*own_port*/) {
  sockaddr_in v4 = {};
  v4.sin_family = AF_INET;
  sockaddr_in6 v6 = {};
  v6.sin6_family = AF_INET6;
  auto& transfer = *static_cast<HttpTransfer*>(self);
  bool may_send = false;
  if (inet_pton(AF_INET, address, &v4.sin_addr) == 1) {
    may_send = transfer.MaySendTo(reinterpret_cast<const sockaddr&>(v4), sizeof v4);
  } else if (inet_pton(AF_INET6, address, &v6.sin6_addr) == 1) {
    may_send = transfer.MaySendTo(reinterpret_cast<const sockaddr&>(v6), sizeof v6);
  }
  return may_send ? CURL_PREREQFUNC_OK : CURL_PREREQFUNC_ABORT;
}

size_t HttpTransfer::OnHeader(char* text, size_t size, size_t count, void* self) {
  ++static_cast<HttpTransfer*>(self)->heard_;
  static_cast<HttpTransfer*>(self)->TakeHeader({text, size * count});
  return size * count;
}

size_t HttpTransfer::OnBody(char* bytes, size_t size, size_t count, void* self) {
  ++static_cast<HttpTransfer*>(self)->heard_;
  return static_cast<HttpTransfer*>(self)->TakeBody({bytes, size * count});
}

void HttpTransfer::ForgetHeaders() {
  reply_ = {};
  content_length_ = std::nullopt;
  content_range_ = std::nullopt;
  has_contradiction_ = false;
}

void HttpTransfer::TakeHeader(std::string_view line) {
  // Ignores the headers of an interim response, such as 100 Continue.
  if (line.starts_with("HTTP/")) {
    ForgetHeaders();
    return;
  }
  const size_t colon = line.find(':');
  if (colon == line.npos) return;
  const std::string name = Lower(line.substr(0, colon));
  const std::string_view value = WithoutBlanks(line.substr(colon + 1));
  if (name == "etag") reply_.etag = value;
  if (name == "location") reply_.location = value;
  if (name == "x-cache-status") reply_.cache_status = value;
  if (name == "x-amz-bucket-region") reply_.bucket_region = value;
  if (name == "last-modified") reply_.modified_ns = ParseDate(value) * 1'000'000'000;
  if (name == "date") reply_.date_s = ParseDate(value);
  if (name == "age") reply_.age_s = ParseSeconds(value, kMaxAge);
  if (name == "retry-after") reply_.retry_after_s = ParseSeconds(value, kMaxRetryAfter);
  if (name == "content-encoding") reply_.is_encoded = Lower(value) != "identity";
  if (name == "content-length") {
    const auto length = NumberFrom<uint64_t>(value);
    has_contradiction_ |= content_length_ && content_length_ != length;
    content_length_ = length;
  }
  if (name == "content-range") {
    const ContentRange range = ParseContentRange(value);
    has_contradiction_ |= content_range_ && content_range_ != range;
    content_range_ = range;
  }
}

void HttpTransfer::Decide() {
  if (std::exchange(decided_, true)) return;
  reply_.asked_range = get_.range && get_.range->length > 0;
  reply_.of_suffix = get_.range && get_.range->from_end;
  curl_easy_getinfo(handle_.get(), CURLINFO_RESPONSE_CODE, &reply_.status);
  if (reply_.status != 200 && reply_.status != 206) return;
  if (reply_.etag.size() > kMaxEtag) {
    reply_.wrong = fmt::format("the ETag is too long: {} bytes", reply_.etag.size());
    return;
  }
  // No request can send an ETag with control characters, so later requests could not require the
  // same version.
  if (!IsHeaderText(reply_.etag)) {
    reply_.wrong = "an ETag with control characters";
    return;
  }
  if (const char* const why = Contradiction()) {
    reply_.is_contradictory = true;
    reply_.wrong = why;
    return;
  }
  if (get_.range) return DecideRange();
  if (content_range_ && !content_range_->IsWhole()) {
    reply_.wrong = "part of an object that was requested as a whole";
    return;
  }
  due_ = content_length_.value_or(get_.into.size());
  if (due_ > get_.into.size()) {
    reply_.wrong =
        fmt::format("a response of {} bytes, over the limit of {}", due_, get_.into.size());
  }
}

const char* HttpTransfer::Contradiction() const {
  if (has_contradiction_) return "two different headers that say which bytes it has";
  if (!content_range_) return nullptr;
  const auto& [first, last, total] = *content_range_;
  if (!first || !last || *last < *first || *last == UINT64_MAX || (total && *last >= *total)) {
    return "an invalid Content-Range";
  }
  if (content_length_ && *content_length_ != *last - *first + 1) {
    return "a Content-Range and a Content-Length that contradict each other";
  }
  return nullptr;
}

void HttpTransfer::DecideRange() {
  const ByteRange& range = *get_.range;
  // Some servers send part of an object with status 200, so Content-Range decides what was sent.
  const bool is_part =
      reply_.status == 206 || (content_range_.has_value() && !content_range_->IsWhole());
  const auto [first, last, total] = content_range_.value_or(ContentRange{});
  reply_.size = content_range_ || is_part ? total : content_length_;
  if (!reply_.size) {
    reply_.wrong = "a response that does not state the size of the object";
    return;
  }
  const uint64_t size = *reply_.size;
  const uint64_t begin =
      range.from_end ? size - std::min(range.length, size) : std::min(range.offset, size);
  due_ = std::min(range.length, size - begin);
  reply_.offset = begin;
  if (is_part && (range.length == 0 || due_ == 0 || first != begin || last != begin + due_ - 1)) {
    reply_.is_other_range = true;
    reply_.wrong = fmt::format("bytes {}-{}, not {} from {}", first.value_or(0), last.value_or(0),
                               due_, begin);
  } else if (!is_part && due_ > 0) {
    skip_ = begin;
    if (skip_ > kMaxSkip) reply_.wrong = "the whole object: this server does not support ranges";
  }
  if (due_ > get_.into.size()) reply_.wrong = "more than requested";
}

size_t HttpTransfer::TakeBody(std::string_view bytes) {
  Decide();
  if (reply_.status != 200 && reply_.status != 206) {
    reply_.text.append(
        bytes.substr(0, kMaxErrorText - std::min(kMaxErrorText, reply_.text.size())));
    said_ += bytes.size();
    return said_ <= kMaxSkip ? bytes.size() : 0;
  }
  if (!reply_.wrong.empty()) return 0;
  const size_t all = bytes.size();
  const size_t skipped = static_cast<size_t>(std::min<uint64_t>(skip_, bytes.size()));
  skip_ -= skipped;
  bytes.remove_prefix(skipped);
  const size_t taken = static_cast<size_t>(std::min<uint64_t>(due_ - reply_.length, bytes.size()));
  // Without a Content-Length, only the body itself shows that the response exceeds the buffer.
  if (!get_.range && taken < bytes.size()) {
    reply_.wrong = "a response over the size limit";
    return 0;
  }
  if (taken > 0) std::memcpy(get_.into.data() + reply_.length, bytes.data(), taken);
  reply_.length += taken;
  // Returning 0 closes the connection, so excess bytes are not received.
  return skip_ == 0 && taken < bytes.size() ? 0 : all;
}

HttpReply HttpTransfer::Finish(CURLcode code) {
  if (code == CURLE_OK) Decide();
  reply_.code = code;
  if (reply_.status == 0) reply_.refused = refused_;
  curl_off_t received = 0;
  curl_easy_getinfo(handle(), CURLINFO_SIZE_DOWNLOAD_T, &received);
  reply_.received = static_cast<uint64_t>(std::max<curl_off_t>(received, 0));
  const bool has_failed = code != CURLE_OK;
  if (has_failed) {
    reply_.failure = failure_[0] != '\0' ? failure_ : curl_easy_strerror(code);
    // The message may contain the address of a proxy with a password, so libcurl's general message
    // for the code replaces it.
    if (reply_.failure.find('@') != reply_.failure.npos) {
      reply_.failure = curl_easy_strerror(code);
    }
  }
  const bool is_good = (reply_.status == 200 || reply_.status == 206) && reply_.wrong.empty();
  const bool ended_by_us = code == CURLE_WRITE_ERROR;
  if (get_.range) {
    reply_.is_whole = is_good && reply_.length == due_ && (!has_failed || ended_by_us);
  } else {
    reply_.is_whole = is_good && !has_failed && (!content_length_ || reply_.length == due_);
  }
  return std::move(reply_);
}

}  // namespace zarrfs
