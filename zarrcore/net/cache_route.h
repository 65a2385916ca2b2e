// CacheRoute: which requests of a store go through a cache of the cluster (via=), and which of the
// caches' answers are used.
//
// A cache gets the request that the store would get, with the store's Host and signature, as an
// HTTP proxy gets it: "GET http://HOST/PATH HTTP/1.1". It knows by itself whether it asks HOST with
// TLS. All mounts send requests for one object to the same cache, by rendezvous hashing.
//
// The header X-Zarrfs-At tells the cache which answers it may use again: those to a request with
// the same value. For a request with a version, that is, with If-Match, the value is when that
// version was modified, because an object that is written again with the same bytes has the same
// ETag. For any other request it is a number that grows with time.
//
// A cache need not be right: the store is asked if the answer of a cache is an error, is cut off,
// or has another version than the one requested. Only the bytes themselves are not checked.
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

  /// How long a cache that failed is not asked.
  static constexpr std::chrono::seconds kLeftAlone{60};
  /// A cache is left alone after this many wrong answers in a row.
  static constexpr int kMaxWrong = 8;

  struct Cache {
    std::string address;
    Clock::time_point not_before = {};  // when it may be asked again
    Clock::time_point heard = {};       // when it last sent anything
    int wrong = 0;                      // the number of wrong answers since the last right one
    int64_t clock_error_s = 0;          // its clock minus that of this machine
  };

  /// Without caches in `options`, Choose() returns null.
  explicit CacheRoute(const RemoteOptions& options);

  /// The cache for a request for the object at `url`. Null if the store must be asked.
  [[nodiscard]] Cache* Choose(const FetchRequest& request, std::string_view url,
                              Clock::time_point now);
  /// Directs `get`, a request to the store, to `cache`. `now_ms`: the Unix time.
  void Direct(const Cache& cache, const FetchRequest& request, std::string_view url, int64_t now_ms,
              HttpGet& get) const;
  /// True if the answer of `cache` is used. Otherwise the store must be asked. `verdict`: that of
  /// the same answer from the store.
  [[nodiscard]] bool Takes(Cache& cache, const FetchRequest& request, const HttpReply& reply,
                           const Verdict& verdict, Clock::time_point now);

  /// True if a request to `cache` must be abandoned. `heard`: when its answer last grew.
  [[nodiscard]] bool IsSilent(const Cache& cache, Clock::time_point heard,
                              Clock::time_point now) const;
  void OnSilent(Cache& cache, Clock::time_point heard, Clock::time_point now);
  /// How long a cache may be silent.
  [[nodiscard]] std::chrono::milliseconds patience() const { return patience_; }

  /// Records that the object at `url` no longer has the version `etag`. Until the next number, the
  /// answers that caches have for the object without a version are not used. If this happens again
  /// until then, the store is asked for the object's version.
  void OnReplaced(std::string_view url, std::string_view etag, Clock::time_point now);

  /// A line for the log, once.
  [[nodiscard]] std::optional<std::string> TakeNotice();

 private:
  struct Replaced {
    std::string etag;
    Clock::time_point until;
    bool is_again = false;
  };

  // The value of X-Zarrfs-At for a request without a version.
  [[nodiscard]] std::string NumberAt(const Cache& cache, std::string_view url,
                                     int64_t now_ms) const;
  void LeaveAlone(Cache& cache, std::string_view why, Clock::time_point now);

  const uint64_t window_ms_;
  const std::chrono::milliseconds patience_;
  std::deque<Cache> caches_;  // addresses are stable
  std::map<std::string, Replaced, std::less<>> replaced_;
  std::deque<std::string> notices_;
};

}  // namespace zarrfs
