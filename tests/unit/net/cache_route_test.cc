#include "zarrcore/net/cache_route.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <ctime>
#include <map>
#include <string>
#include <vector>

namespace zarrfs::cache_route_test {
namespace {

using Clock = CacheRoute::Clock;
using Kind = FetchRequest::Kind;
using std::chrono::milliseconds;

const std::string kUrl = "https://host:8443/b/a%20b";

RemoteOptions OptionsWith(int caches) {
  RemoteOptions options;
  for (int i = 0; i < caches; ++i) options.caches.push_back(fmt::format("http://cache{}:80", i));
  return options;
}

FetchRequest Versioned() {
  return {.kind = Kind::kGet,
          .range = ByteRange::At(0, 4),
          .length = 4,
          .is_conditional = true,
          .modified_ns = 7'000'000'000,
          .size = 100,
          .condition = "\"1\""};
}
FetchRequest Unversioned() {
  return {.kind = Kind::kGet, .range = ByteRange::At(0, 4), .length = 4};
}

HttpReply Right() {
  HttpReply reply;
  reply.status = 206;
  reply.etag = "\"1\"";
  reply.size = 100;
  reply.modified_ns = 7'000'000'000;
  reply.asked_range = true;
  reply.cache_status = "HIT";
  return reply;
}

class CacheRouteTest : public ::testing::Test {
 protected:
  // True if a reply of the first cache is used. `kind` and `code`: the verdict.
  bool Takes(const FetchRequest& request, const HttpReply& reply,
             Verdict::Kind kind = Verdict::Kind::kBytes, ErrorCode code = ErrorCode::kIo) {
    const Verdict verdict{kind, {code, ""}, reply.status == 503};
    return route_.Takes(*route_.Choose(request, kUrl, begin_), request, reply, verdict, now_);
  }
  std::vector<std::string> Headers(const FetchRequest& request, int64_t now_ms) {
    HttpGet get{.url = kUrl, .headers = {}, .range = {}, .into = {}};
    route_.Direct(*route_.Choose(request, kUrl, begin_), request, kUrl, now_ms, get);
    return get.headers;
  }

  RemoteOptions options_ = OptionsWith(1);
  CacheRoute route_{options_};
  const Clock::time_point begin_ = Clock::now();
  Clock::time_point now_ = begin_;
};

TEST_F(CacheRouteTest, WithoutCachesTheStoreIsAsked) {
  CacheRoute none{RemoteOptions()};
  EXPECT_EQ(none.Choose(Versioned(), kUrl, now_), nullptr);
}

TEST_F(CacheRouteTest, TheStoresAddressAndHostGoToTheCache) {
  HttpGet get{.url = kUrl, .headers = {}, .range = {}, .into = {}};
  get.uses_netrc = true;
  route_.Direct(*route_.Choose(Unversioned(), kUrl, now_), Unversioned(), kUrl, 5000, get);
  EXPECT_EQ(get.url, "http://host:8443/b/a%20b");
  EXPECT_EQ(get.proxy, "http://cache0:80");
  EXPECT_FALSE(get.uses_netrc) << "the cache has no TLS";
  EXPECT_EQ(get.headers, (std::vector<std::string>{"Host: host:8443", "X-Zarrfs-At: 5"}));
}

TEST_F(CacheRouteTest, AVersionHasItsTimeAndAnyOtherRequestANumberThatGrows) {
  EXPECT_EQ(Headers(Versioned(), 5000).back(), "X-Zarrfs-At: 7000000000");
  EXPECT_EQ(Headers(Unversioned(), 5999).back(), "X-Zarrfs-At: 5");
  EXPECT_EQ(Headers(Unversioned(), 6000).back(), "X-Zarrfs-At: 6");
}

TEST(CacheRouteWindowTest, TheNumberFollowsTheOptions) {
  RemoteOptions options = OptionsWith(1);
  HttpGet get{.url = kUrl, .headers = {}, .range = {}, .into = {}};
  options.cache_window_ms = RemoteOptions::kForever;
  CacheRoute forever(options);
  forever.Direct(*forever.Choose(Unversioned(), kUrl, {}), Unversioned(), kUrl, 5000, get);
  EXPECT_EQ(get.headers.back(), "X-Zarrfs-At: immutable");
  options.cache_window_ms = 0;
  CacheRoute never(options);
  EXPECT_EQ(never.Choose(Unversioned(), kUrl, {}), nullptr) << "each answer must be fresh";
  EXPECT_NE(never.Choose(Versioned(), kUrl, {}), nullptr);
}

TEST_F(CacheRouteTest, TheNumberFollowsTheClockOfTheCache) {
  HttpReply reply = Right();
  reply.date_s = std::time(nullptr) + 100;
  EXPECT_TRUE(Takes(Unversioned(), reply));
  const std::string number = Headers(Unversioned(), 5000).back();
  EXPECT_TRUE(number == "X-Zarrfs-At: 105" || number == "X-Zarrfs-At: 104") << number;
  reply.date_s = std::time(nullptr) - 1000;
  reply.age_s = 1000;
  EXPECT_TRUE(Takes(Unversioned(), reply));
  EXPECT_EQ(Headers(Unversioned(), 5000).back(), "X-Zarrfs-At: 5");
  reply.age_s = 0;
  reply.date_s = std::time(nullptr) + 1;
  EXPECT_TRUE(Takes(Unversioned(), reply));
  EXPECT_EQ(Headers(Unversioned(), 5000).back(), "X-Zarrfs-At: 5");
}

TEST_F(CacheRouteTest, AnAnswerFromBeforeAKnownReplacementIsNotUsedAgain) {
  route_.OnReplaced(kUrl, "\"1\"", now_);
  EXPECT_EQ(Headers(Unversioned(), 5000).back(), "X-Zarrfs-At: 5 not \"1\"");
  route_.OnReplaced("https://host/other", "\"3\"", now_ + std::chrono::seconds(10));
  EXPECT_EQ(Headers(Unversioned(), 5000).back(), "X-Zarrfs-At: 5");
}

TEST_F(CacheRouteTest, TheStoreIsAskedForTheVersionOfAnObjectThatIsReplacedAgain) {
  route_.OnReplaced(kUrl, "\"1\"", now_);
  EXPECT_NE(route_.Choose(Unversioned(), kUrl, now_), nullptr);
  route_.OnReplaced(kUrl, "\"2\"", now_);
  EXPECT_EQ(route_.Choose(Unversioned(), kUrl, now_), nullptr);
  EXPECT_NE(route_.Choose(Versioned(), kUrl, now_), nullptr);
  EXPECT_NE(route_.Choose(Unversioned(), kUrl, now_ + std::chrono::seconds(10)), nullptr);
}

TEST(CacheRouteHashTest, EachCacheHasAShareOfTheObjectsAndKeepsItIfAnotherFails) {
  CacheRoute route{OptionsWith(3)};
  const auto now = Clock::now();
  std::map<std::string, std::string> chosen;
  std::map<std::string, int> shares;
  for (int i = 0; i < 3000; ++i) {
    const std::string url = fmt::format("https://host/x.zarr/c/{}/0", i);
    chosen[url] = route.Choose(Versioned(), url, now)->address;
    EXPECT_EQ(route.Choose(Unversioned(), url, now)->address, chosen[url]);
    ++shares[chosen[url]];
  }
  ASSERT_EQ(shares.size(), 3U);
  for (const auto& [cache, share] : shares) EXPECT_NEAR(share, 1000, 150) << cache;

  HttpReply refused;
  refused.code = CURLE_COULDNT_CONNECT;
  CacheRoute::Cache* failed = route.Choose(Versioned(), kUrl, now);
  const std::string address = failed->address;
  EXPECT_FALSE(route.Takes(*failed, Versioned(), refused, {Verdict::Kind::kAgain, {}, false}, now));
  for (const auto& [url, cache] : chosen) {
    const std::string& again = route.Choose(Versioned(), url, now)->address;
    EXPECT_TRUE(cache == address ? again != address : again == cache) << url;
  }
}

TEST_F(CacheRouteTest, ACacheThatRefusesIsLeftAloneForAMinuteWithOneLine) {
  HttpReply refused;
  refused.code = CURLE_COULDNT_CONNECT;
  refused.failure = "Connection refused";
  CacheRoute::Cache* cache = route_.Choose(Versioned(), kUrl, now_);
  const Verdict verdict{Verdict::Kind::kAgain, {}, false};
  for (int i = 0; i < 3; ++i) {
    EXPECT_FALSE(route_.Takes(*cache, Versioned(), refused, verdict, now_));
  }
  EXPECT_EQ(route_.TakeNotice(),
            "the cache http://cache0:80 is not asked for 60 s (Connection refused); the store is "
            "asked instead");
  EXPECT_FALSE(route_.TakeNotice());
  EXPECT_EQ(route_.Choose(Versioned(), kUrl, now_ + std::chrono::seconds(59)), nullptr);
  EXPECT_NE(route_.Choose(Versioned(), kUrl, now_ + std::chrono::seconds(60)), nullptr);
}

TEST_F(CacheRouteTest, BytesAreUsedIfTheyAreOfTheRangeAndTheVersion) {
  EXPECT_TRUE(Takes(Versioned(), Right()));
  EXPECT_TRUE(Takes(Unversioned(), Right()));
  HttpReply other = Right();
  other.etag = "\"2\"";
  EXPECT_FALSE(Takes(Versioned(), other));
  EXPECT_TRUE(Takes(Unversioned(), other));
  HttpReply later = Right();
  later.modified_ns += 1'000'000'000;
  EXPECT_FALSE(Takes(Versioned(), later));
  HttpReply longer = Right();
  longer.size = 101;
  EXPECT_FALSE(Takes(Versioned(), longer));
  HttpReply whole = Right();
  whole.status = 200;
  EXPECT_FALSE(Takes(Versioned(), whole));
  EXPECT_FALSE(Takes(Unversioned(), whole));
}

TEST_F(CacheRouteTest, AnAbsenceCountsOnlyIfTheStoreHasSaidSo) {
  HttpReply absent;
  absent.status = 404;
  EXPECT_FALSE(Takes(Unversioned(), absent, Verdict::Kind::kError, ErrorCode::kNotFound));
  absent.cache_status = "MISS";
  EXPECT_TRUE(Takes(Unversioned(), absent, Verdict::Kind::kError, ErrorCode::kNotFound));
  // With absent=403, the 403 may come from a cache that refuses its client, so it proves nothing.
  absent.status = 403;
  EXPECT_FALSE(Takes(Unversioned(), absent, Verdict::Kind::kError, ErrorCode::kNotFound));
}

TEST_F(CacheRouteTest, ForAnyOtherErrorTheStoreIsAskedExceptIfItRefusesMany) {
  for (const long status : {301, 400, 401, 412, 416, 500, 502, 503, 504, 507}) {
    HttpReply error;
    error.status = status;
    const auto kind = status >= 500   ? Verdict::Kind::kAgain
                      : status == 416 ? Verdict::Kind::kNoRange
                                      : Verdict::Kind::kError;
    EXPECT_FALSE(Takes(Unversioned(), error, kind)) << status;
    error.cache_status = "MISS";
    EXPECT_EQ(Takes(Unversioned(), error, kind), status == 416 || status == 503) << status;
  }
}

TEST_F(CacheRouteTest, ACacheThatIsWrongAgainAndAgainIsLeftAlone) {
  HttpReply error;
  error.status = 502;
  error.cache_status = "MISS";
  for (int i = 1; i < CacheRoute::kMaxWrong; ++i) {
    EXPECT_FALSE(Takes(Versioned(), error, Verdict::Kind::kAgain));
  }
  EXPECT_TRUE(Takes(Versioned(), Right()));
  for (int i = 1; i <= CacheRoute::kMaxWrong; ++i) {
    EXPECT_FALSE(route_.TakeNotice());
    EXPECT_FALSE(Takes(Versioned(), error, Verdict::Kind::kAgain));
  }
  EXPECT_EQ(route_.Choose(Versioned(), kUrl, now_), nullptr);
  const auto notice = route_.TakeNotice();
  ASSERT_TRUE(notice);
  EXPECT_NE(notice->find("(it answers 502)"), std::string::npos) << *notice;
}

TEST_F(CacheRouteTest, ACacheIsSilentIfNothingComesFromItAtAll) {
  EXPECT_EQ(route_.timeout(), milliseconds(5000));  // timeout=60
  CacheRoute::Cache* cache = route_.Choose(Versioned(), kUrl, now_);
  const auto after = [&](int seconds) { return begin_ + std::chrono::seconds(seconds); };
  EXPECT_FALSE(route_.IsSilent(*cache, begin_, after(4)));
  EXPECT_TRUE(route_.IsSilent(*cache, begin_, after(5)));
  cache->heard = after(3);  // the cache is busy, because it has answered another request
  EXPECT_FALSE(route_.IsSilent(*cache, begin_, after(5)));
  cache->heard = after(14);
  EXPECT_TRUE(route_.IsSilent(*cache, begin_, after(15)));
  route_.OnSilent(*cache, begin_, after(15));
  EXPECT_FALSE(route_.TakeNotice()) << "only this request waits";
  route_.OnSilent(*cache, after(14), after(20));
  EXPECT_TRUE(route_.TakeNotice());
}

}  // namespace
}  // namespace zarrfs::cache_route_test
