// CacheRoute: decides which requests to a store go through a cache of the cluster (via=), and which
// replies of the caches are used.
//
// A cache receives the same request as the store would, with the store's Host and signature, in the
// form for HTTP proxies: "GET http://HOST/PATH HTTP/1.1". The configuration of the cache determines
// whether it connects to HOST with TLS. All mounts send requests for one object to the same cache,
// by rendezvous hashing.
//
// A cache may reuse a reply only for requests with the same header X-Zarrfs-At. For a request with
// a version (If-Match), the value is the modification time of that version, because an object that
// is rewritten with the same bytes keeps its ETag. For any other request, the value is a number
// that grows with time.
//
// Caches may be wrong. If the reply of a cache is truncated, has another version than the one
// requested, or is an error other than the store's own 404, 416, 429 or 503, the request goes to
// the store. The bytes themselves are not checked.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "zarrcore/net/fetch_channel.h"
#include "zarrcore/net/http_transfer.h"
#include "zarrcore/net/remote_source.h"
#include "zarrcore/net/verdict.h"

namespace zarrfs {

/// Used by one thread.
class CacheRoute {
 public:
  using Clock = std::chrono::steady_clock;

  /// How long no requests are sent to a cache after it has failed.
  static constexpr std::chrono::seconds kLeftAlone{60};
  /// A cache is skipped after this many consecutive wrong replies.
  static constexpr int kMaxWrong = 8;

  struct Cache {
    std::string address;
    Clock::time_point not_before = {};  // when the cache may be used again
    Clock::time_point heard = {};       // when a reply of this cache last grew
    int wrong = 0;                      // the number of consecutive wrong replies
    int64_t clock_error_s = 0;          // the cache's clock minus this machine's clock
  };

  /// If `options` has no caches, Choose() always returns null.
  explicit CacheRoute(const RemoteOptions& options);

  /// Returns the cache for a request for the object at `url`; null if the request must go to the
  /// store.
  [[nodiscard]] Cache* Choose(const FetchRequest& request, std::string_view url,
                              Clock::time_point now);
  /// Changes `get`, a request to the store, into a request to `cache`. `now_ms`: Unix time in
  /// milliseconds.
  void Direct(const Cache& cache, const FetchRequest& request, std::string_view url, int64_t now_ms,
              HttpGet& get) const;
  /// True if `reply`, which `cache` sent, can be used. Otherwise the request must go to the store.
  /// `verdict`: the result of Judge(), as if the store had sent the reply.
  [[nodiscard]] bool Takes(Cache& cache, const FetchRequest& request, const HttpReply& reply,
                           const Verdict& verdict, Clock::time_point now);

  /// True if a request to `cache` must be abandoned, because the cache has sent nothing for too
  /// long. `heard`: when the reply last grew.
  [[nodiscard]] bool IsSilent(const Cache& cache, Clock::time_point heard,
                              Clock::time_point now) const;
  void OnSilent(Cache& cache, Clock::time_point heard, Clock::time_point now);
  /// How long a cache may be silent before its requests are abandoned.
  [[nodiscard]] std::chrono::milliseconds timeout() const { return timeout_; }

  /// Records that the object at `url` no longer has the version `etag`. Until the number in
  /// X-Zarrfs-At changes, requests for this object without a version do not reuse cached replies.
  /// If the object is replaced again before that, such requests go to the store.
  void OnReplaced(std::string_view url, std::string_view etag, Clock::time_point now);

  /// Removes and returns the next message for the log; nullopt if there is none.
  [[nodiscard]] std::optional<std::string> TakeNotice();

 private:
  struct Replaced {
    std::string etag;
    Clock::time_point until;
    bool is_again = false;
  };

  // Returns the value of X-Zarrfs-At for a request without a version.
  [[nodiscard]] std::string NumberAt(const Cache& cache, std::string_view url,
                                     int64_t now_ms) const;
  void LeaveAlone(Cache& cache, std::string_view why, Clock::time_point now);

  const uint64_t window_ms_;
  const std::chrono::milliseconds timeout_;
  std::deque<Cache> caches_;  // elements never move
  std::map<std::string, Replaced, std::less<>> replaced_;
  std::deque<std::string> notices_;
};

}  // namespace zarrfs
