#include "zarrcore/net/cache_route.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <utility>

#include "zarrcore/base/printable.h"

namespace zarrfs {
namespace {

using std::chrono::milliseconds;

// A request to a cache is abandoned after a silence of 1/kShareOfTimeout of timeout=, at most
// kMaxSilence. If the cache is sending other replies, the request may wait kTimeoutFactor times as
// long.
constexpr int kShareOfTimeout = 4;
constexpr auto kMaxSilence = milliseconds(5000);
constexpr int kTimeoutFactor = 3;
// Smaller differences between the clocks of a cache and this machine are ignored, because the
// header Date has a resolution of seconds.
constexpr int64_t kSameClockS = 2;
// Maximum number of replaced objects in CacheRoute::replaced_; further ones are not recorded.
constexpr size_t kMaxReplaced = 4096;

// Hashes the address of a cache and a URL (FNV-1a, then the final step of MurmurHash3). All mounts
// of a cluster must compute the same value.
uint64_t Weight(std::string_view cache, std::string_view url) {
  uint64_t hash = 0xcbf29ce484222325U;
  const auto add = [&hash](std::string_view text) {
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  };
  add(cache);
  add("\n");
  add(url);
  hash = (hash ^ (hash >> 33U)) * 0xff51afd7ed558ccdU;
  hash = (hash ^ (hash >> 33U)) * 0xc4ceb9fe1a85ec53U;
  return hash ^ (hash >> 33U);
}

bool HasVersion(const FetchRequest& request) {
  return request.is_conditional && request.condition.starts_with('"');
}

bool IsRefusal(CURLcode code) {
  return code == CURLE_COULDNT_CONNECT || code == CURLE_COULDNT_RESOLVE_PROXY ||
         code == CURLE_COULDNT_RESOLVE_HOST || code == CURLE_SSL_CONNECT_ERROR ||
         code == CURLE_PEER_FAILED_VERIFICATION || code == CURLE_SSL_CACERT_BADFILE;
}

// Returns why the bytes that a cache sent cannot be used; "" if they can.
std::string WhyNotTheseBytes(const FetchRequest& request, const HttpReply& reply) {
  const bool asked_range = request.kind == FetchRequest::Kind::kGet && reply.asked_range;
  if (asked_range && reply.status != 206) {
    return fmt::format("it answers {} to a request for a range", reply.status);
  }
  if (!request.is_conditional) return "";
  const bool is_same = reply.modified_ns == request.modified_ns &&
                       (!HasVersion(request) || reply.etag == request.condition);
  if (!is_same || reply.size.value_or(request.size) != request.size) {
    return "it answers with another version than the one requested";
  }
  return "";
}

// True if a reply without bytes (404, invalid range, 429, 503) comes from the store, not from the
// cache. The header X-Cache-Status shows that the cache forwarded the reply.
bool IsOfStore(const HttpReply& reply, const Verdict& verdict) {
  if (reply.cache_status.empty() || reply.code != CURLE_OK) return false;
  const bool is_absent = verdict.kind == Verdict::Kind::kError &&
                         verdict.error.code == ErrorCode::kNotFound && reply.status == 404;
  return is_absent || verdict.kind == Verdict::Kind::kNoRange ||
         (verdict.kind == Verdict::Kind::kAgain && verdict.slow_down);
}

// True if an error may come from the store, so it does not count as a wrong reply of the cache.
bool MayBeRight(const HttpReply& reply) {
  return !reply.cache_status.empty() && reply.code == CURLE_OK && reply.status >= 300 &&
         reply.status < 500;
}

}  // namespace

CacheRoute::CacheRoute(const RemoteOptions& options)
    : window_ms_(options.cache_window_ms),
      timeout_(std::min(milliseconds(options.timeout * 1000 / kShareOfTimeout), kMaxSilence)) {
  for (const std::string& address : options.caches) caches_.push_back({.address = address});
}

CacheRoute::Cache* CacheRoute::Choose(const FetchRequest& request, std::string_view url,
                                      Clock::time_point now) {
  if (!HasVersion(request)) {
    const auto replaced = replaced_.find(url);
    const bool is_again =
        replaced != replaced_.end() && replaced->second.is_again && now < replaced->second.until;
    if (window_ms_ == 0 || is_again) return nullptr;
  }
  Cache* best = nullptr;
  uint64_t most = 0;
  for (Cache& cache : caches_) {
    if (now < cache.not_before) continue;
    const uint64_t weight = Weight(cache.address, url);
    if (best != nullptr && weight <= most) continue;
    best = &cache;
    most = weight;
  }
  return best;
}

std::string CacheRoute::NumberAt(const Cache& cache, std::string_view url, int64_t now_ms) const {
  if (window_ms_ == RemoteOptions::kForever) return "immutable";
  const int64_t at = std::max<int64_t>(now_ms + cache.clock_error_s * 1000, 0);
  std::string number = fmt::format("{}", static_cast<uint64_t>(at) / window_ms_);
  if (const auto found = replaced_.find(url); found != replaced_.end()) {
    number += fmt::format(" not {}", found->second.etag);
  }
  return number;
}

void CacheRoute::Direct(const Cache& cache, const FetchRequest& request, std::string_view url,
                        int64_t now_ms, HttpGet& get) const {
  const size_t host = get.url.find("://") + 3;
  const size_t end = std::min(get.url.find_first_of("/?", host), get.url.size());
  // Without this header, libcurl would omit port 80, which the signature may cover.
  get.headers.push_back("Host: " + get.url.substr(host, end - host));
  get.headers.push_back("X-Zarrfs-At: " + (HasVersion(request) ? std::to_string(request.modified_ns)
                                                               : NumberAt(cache, url, now_ms)));
  get.url = "http://" + get.url.substr(host);
  get.proxy = cache.address;
  get.uses_netrc = get.uses_netrc && cache.address.starts_with("https:");
}

bool CacheRoute::Takes(Cache& cache, const FetchRequest& request, const HttpReply& reply,
                       const Verdict& verdict, Clock::time_point now) {
  if (reply.status == 0 && IsRefusal(reply.code)) {
    LeaveAlone(cache, reply.failure, now);
    return false;
  }
  if (reply.date_s > 0) {
    // nginx sends its own time as Date. Other caches forward the Date of the stored reply, so its
    // Age is added.
    const int64_t error = reply.date_s + reply.age_s - std::time(nullptr);
    cache.clock_error_s = std::abs(error) < kSameClockS ? 0 : error;
  }
  std::string why;
  if (verdict.kind == Verdict::Kind::kBytes) {
    why = WhyNotTheseBytes(request, reply);
    if (why.empty()) cache.wrong = 0;
    if (why.empty()) return true;
  } else if (IsOfStore(reply, verdict)) {
    cache.wrong = 0;
    return true;
  } else if (MayBeRight(reply)) {
    return false;
  } else {
    why = reply.code != CURLE_OK && reply.status == 0  ? reply.failure
          : !reply.wrong.empty()                       ? "it sends " + reply.wrong
          : reply.status == 200 || reply.status == 206 ? "it sent an incomplete response"
                                                       : fmt::format("it answers {}", reply.status);
  }
  if (++cache.wrong >= kMaxWrong) LeaveAlone(cache, why, now);
  return false;
}

bool CacheRoute::IsSilent(const Cache& cache, Clock::time_point heard,
                          Clock::time_point now) const {
  const auto silence = now - heard;
  return silence >= timeout_ &&
         (now - cache.heard >= timeout_ || silence >= timeout_ * kTimeoutFactor);
}

void CacheRoute::OnSilent(Cache& cache, Clock::time_point heard, Clock::time_point now) {
  if (now - cache.heard < timeout_) return;  // the cache is alive: it still sends other replies
  LeaveAlone(cache,
             fmt::format("it was silent for {} ms",
                         std::chrono::duration_cast<milliseconds>(now - heard).count()),
             now);
}

void CacheRoute::LeaveAlone(Cache& cache, std::string_view why, Clock::time_point now) {
  cache.wrong = 0;
  if (now < cache.not_before) return;  // already skipped and reported
  cache.not_before = now + kLeftAlone;
  notices_.push_back(
      fmt::format("the cache {} is not asked for {} s ({}); {} is asked instead", cache.address,
                  kLeftAlone.count(), AsciiExcerpt(why),
                  caches_.size() > 1 ? "another cache, or the store," : "the store"));
}

void CacheRoute::OnReplaced(std::string_view url, std::string_view etag, Clock::time_point now) {
  if (caches_.empty() || window_ms_ == RemoteOptions::kForever) return;
  std::erase_if(replaced_, [now](const auto& each) { return each.second.until < now; });
  if (replaced_.size() >= kMaxReplaced) return;
  // Lasts kSameClockS longer, because smaller errors of the cache's clock are ignored.
  const auto until = now + milliseconds(window_ms_) + std::chrono::seconds(kSameClockS);
  const auto [place, is_new] = replaced_.try_emplace(std::string(url));
  place->second = {std::string(etag), until, !is_new};
}

std::optional<std::string> CacheRoute::TakeNotice() {
  if (notices_.empty()) return std::nullopt;
  std::string notice = std::move(notices_.front());
  notices_.pop_front();
  return notice;
}

}  // namespace zarrfs
