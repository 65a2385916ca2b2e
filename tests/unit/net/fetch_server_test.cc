#include "zarrcore/net/fetch_server.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "tests/unit/support/http_server.h"
#include "zarrcore/disk/disk_cache.h"

namespace zarrfs::fetch_server_test {
namespace {

using Kind = FetchRequest::Kind;

// A fetch server, and the client's end of its channel.
class Served {
 public:
  explicit Served(RemoteSource source) : source_(std::move(source)) {
    server_ = std::thread([this] {
      const RemoteOptions& options = source_.options;
      std::unique_ptr<DiskCache> disk;
      if (!options.disk_cache.empty()) {
        disk = *DiskCache::Open(options.disk_cache, options.disk_cache_size);
      }
      RunFetchServer(source_, channel_, std::move(disk));
    });
    const auto begun = ReceiveAnswer(channel_.client, /*waits=*/true);
    EXPECT_EQ(begun->id, 0U);
    generation_ = begun->generation;
  }
  ~Served() {
    shutdown(channel_.client.get(), SHUT_RDWR);
    server_.join();
  }
  Served(const Served&) = delete;
  Served& operator=(const Served&) = delete;

  FetchAnswer Ask(FetchRequest request) {
    request.kind = Kind::kGet;
    request.id = ++id_;
    request.generation = generation_;
    EXPECT_TRUE(Send(channel_.client, request));
    for (;;) {
      FetchAnswer answer = *ReceiveAnswer(channel_.client, /*waits=*/true);
      if (answer.id != 0) return answer;
      notices_.push_back(answer.message);
    }
  }
  // The lines for the log that were received before an answer.
  [[nodiscard]] const std::vector<std::string>& notices() const { return notices_; }
  [[nodiscard]] const FetchChannel& channel() const { return channel_; }
  [[nodiscard]] uint64_t generation() const { return generation_; }

 private:
  const RemoteSource source_;
  const FetchChannel channel_ = *FetchChannel::Make();
  std::thread server_;
  uint64_t generation_ = 0;
  uint64_t id_ = 0;
  std::vector<std::string> notices_;
};

RemoteSource SourceOf(const std::string& url, RemoteOptions options = {}) {
  options.timeout = 1;
  return *ParseRemoteSource(url, options);
}

// A fetch server for a port on which no server listens.
class FetchServerTest : public ::testing::Test {
 protected:
  FetchAnswer Ask(FetchRequest request) { return served_.Ask(std::move(request)); }
  Served served_{SourceOf("http://127.0.0.1:1/store")};
  const FetchChannel& channel_ = served_.channel();
  const uint64_t generation_ = served_.generation();
};

TEST_F(FetchServerTest, AStoreThatIsNotThereIsAnErrorInTime) {
  const auto answer = Ask({.range = ByteRange::At(0, 9), .length = 9, .key = "a"});
  EXPECT_EQ(answer.error, ErrorCode::kIo);
  EXPECT_NE(answer.message.find("does not accept connections"), std::string::npos)
      << answer.message;
}

TEST_F(FetchServerTest, RequestsThatReachBeyondTheStoreOrTheMemoryAreRefused) {
  const FetchRequest good = {.range = ByteRange::At(0, 9), .length = 9, .key = "a"};
  std::vector<FetchRequest> bad(6, good);
  bad[0].key = "../a";
  bad[1].at = FetchChannel::kMemory - 8;
  bad[2].length = UINT64_MAX;
  bad[3].range = ByteRange::At(0, 10);
  bad[4].range = ByteRange::At(UINT64_MAX, 9);
  bad[5].is_conditional = true;
  bad[5].condition = "\"1\"\r\nHost: other";
  for (const FetchRequest& request : bad) {
    EXPECT_EQ(Ask(request).error, ErrorCode::kInvalidArgument) << &request - bad.data();
  }
}

TEST_F(FetchServerTest, AnotherClientGetsNoAnswersOfTheOneBefore) {
  EXPECT_TRUE(Send(channel_.client, FetchRequest{.kind = Kind::kGet,
                                                 .id = 1,
                                                 .generation = generation_,
                                                 .range = ByteRange::At(0, 9),
                                                 .length = 9,
                                                 .key = "a"}));
  EXPECT_TRUE(Send(channel_.client, FetchRequest{.kind = Kind::kHello, .id = 2}));
  EXPECT_EQ(ReceiveAnswer(channel_.client, /*waits=*/true)->id, 2U);
  EXPECT_TRUE(Send(channel_.client, FetchRequest{.kind = Kind::kHello, .id = 3}));
  EXPECT_EQ(ReceiveAnswer(channel_.client, /*waits=*/true)->id, 3U);
}

// The fetcher of a local store whose virtual chunks are below two prefixes on a web server.
TEST(FetchServerOfPrefixesTest, AnObjectIsNamedByTheNumberOfAPrefixAndAKey) {
  std::mutex mutex;
  std::vector<std::string> all;
  const auto asked = [&] {
    const std::lock_guard lock(mutex);
    return all;
  };
  const auto answer = [&](const std::string& request, const HttpServer::Send& send) {
    {
      const std::lock_guard lock(mutex);
      all.push_back(request);
    }
    send("HTTP/1.1 200 OK\r\nETag: \"1\"\r\nContent-Length: 4\r\nConnection: close\r\n\r\nkeys");
  };
  const HttpServer web(answer);
  std::vector<VirtualPrefix> prefixes;
  for (const std::string& prefix :
       {std::string("file:///data/"), web.url() + "/one/", web.url() + "/t%20wo/three/"}) {
    prefixes.push_back(*ParseVirtualPrefix(prefix));
  }
  RemoteOptions options;
  options.timeout = 1;
  options.headers_file = "/proc/self/status";  // does not apply to prefixes
  Served served(*ParseRemoteSource("/data/ocean.icechunk", options, prefixes));
  const auto ask = [&](uint32_t store, const std::string& key) {
    return served.Ask({.store = store, .range = ByteRange::At(0, 4), .length = 4, .key = key});
  };
  EXPECT_EQ(ask(1, "a").length, 4U);
  EXPECT_EQ(ask(2, "x y/b").length, 4U);
  ASSERT_EQ(asked().size(), 2U);
  EXPECT_TRUE(asked()[0].starts_with("GET /one/a HTTP/1.1\r\n")) << asked()[0];
  EXPECT_TRUE(asked()[1].starts_with("GET /t%20wo/three/x%20y/b HTTP/1.1\r\n")) << asked()[1];
  EXPECT_EQ(asked()[0].find("Name:"), std::string::npos) << asked()[0];
  for (const auto& [store, key] : std::vector<std::pair<uint32_t, std::string>>{
           {0, "a"}, {3, "a"}, {UINT32_MAX, "a"}, {1, ""}, {1, "../a"}, {1, "a//b"}, {2, "/a"}}) {
    EXPECT_EQ(ask(store, key).error, ErrorCode::kInvalidArgument) << store << " " << key;
  }
  EXPECT_EQ(asked().size(), 2U);
}

// The client's process may be compromised, and other mounts read the disk cache, too.
TEST(FetchServerOnDiskTest, WhatTheClientWritesIntoItsPieceIsNotKept) {
  constexpr std::string_view kBytes = "0123456789abcdef";
  constexpr std::string_view kHead =
      "HTTP/1.1 200 OK\r\nETag: \"1\"\r\nContent-Length: 16\r\n"
      "Last-Modified: Mon, 01 Jan 2024 00:00:00 GMT\r\nConnection: close\r\n\r\n";
  const HttpServer web([&](const std::string& /*request*/, const HttpServer::Send& send) {
    send(kHead);
    send(kBytes.substr(0, 8));
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    send(kBytes.substr(8));
  });
  char folder[] = "/tmp/fetch_server_test.XXXXXX";
  ASSERT_NE(mkdtemp(folder), nullptr);
  const std::filesystem::path cache = folder;
  RemoteOptions options;
  options.disk_cache = cache;
  Served served(SourceOf(web.url() + "/store", options));
  std::byte* const memory = FetchChannel::Map(served.channel().memory);
  std::atomic<bool> is_over = false;
  std::thread worker([&] {
    while (!is_over) std::memcpy(memory, "EVIL", 4);
  });
  const auto answer = served.Ask({.range = ByteRange::At(0, 16), .length = 16, .key = "a"});
  EXPECT_EQ(answer.length, kBytes.size()) << answer.message;
  is_over = true;
  worker.join();
  munmap(memory, FetchChannel::kMemory);
  const auto disk = DiskCache::Open(cache, options.disk_cache_size);
  ASSERT_TRUE(disk.has_value());
  const Version version{.size = 16, .mtime_ns = 1'704'067'200'000'000'000, .etag = "\"1\""};
  std::string kept(16, ' ');
  for (int i = 0; i < 1000; ++i) {
    const auto out = std::as_writable_bytes(std::span(kept));
    if ((*disk)->Read(web.url() + "/store/a", version, 0, out)) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_EQ(kept, kBytes);
  std::filesystem::remove_all(cache);
}

// A store and a cache. `cached` sends the replies of the cache.
class FetchServerViaTest : public ::testing::Test {
 protected:
  static constexpr std::string_view kRight =
      "HTTP/1.1 206 Partial Content\r\nETag: \"1\"\r\nContent-Range: bytes 0-3/4\r\n"
      "Content-Length: 4\r\nConnection: close\r\n\r\n";

  FetchAnswer Ask(const HttpServer::Handler& cached) {
    const HttpServer store([&](const std::string& /*request*/, const HttpServer::Send& send) {
      ++asked_;
      send(std::string(kRight) + "true");
    });
    const HttpServer cache([&](const std::string& request, const HttpServer::Send& send) {
      requests_.push_back(request);
      cached(request, send);
    });
    url_ = store.url();
    RemoteOptions options;
    options.caches = {cache.url()};
    Served served(SourceOf(store.url() + "/store", options));
    const FetchRequest request{.range = ByteRange::At(0, 4),
                               .length = 4,
                               .is_conditional = true,
                               .size = 4,
                               .key = "a b",
                               .condition = "\"1\""};
    FetchAnswer answer = served.Ask(request);
    std::byte* const memory = FetchChannel::Map(served.channel().memory);
    text_.assign(reinterpret_cast<const char*>(memory), answer.length);
    munmap(memory, FetchChannel::kMemory);
    counts_ = FetchChannel::ReadCounts(served.channel().memory);
    return answer;
  }

  std::atomic<int> asked_ = 0;  // requests to the store
  std::vector<std::string> requests_;
  std::string url_, text_;
  FetchCounts counts_;
};

TEST_F(FetchServerViaTest, ARequestGoesToTheCacheAsToAProxy) {
  const auto answer = Ask([](const auto& /*request*/, const auto& send) {
    send(std::string(kRight.substr(0, kRight.size() - 2)) + "X-Cache-Status: HIT\r\n\r\nkept");
  });
  EXPECT_FALSE(answer.error) << answer.message;
  EXPECT_EQ(text_, "kept");
  EXPECT_EQ(asked_, 0);
  ASSERT_EQ(requests_.size(), 1U);
  const std::string& request = requests_[0];
  EXPECT_TRUE(request.starts_with("GET " + url_ + "/store/a%20b HTTP/1.1\r\n")) << request;
  EXPECT_NE(request.find("\r\nHost: " + url_.substr(7) + "\r\n"), std::string::npos) << request;
  EXPECT_NE(request.find("\r\nIf-Match: \"1\"\r\n"), std::string::npos) << request;
  EXPECT_NE(request.find("\r\nX-Zarrfs-At: 0\r\n"), std::string::npos) << request;
  EXPECT_EQ(counts_.cache_hits, 1U);
  EXPECT_EQ(counts_.gets, 1U);
}

TEST_F(FetchServerViaTest, TheStoreIsAskedAfterAWrongAnswer) {
  const std::string right(kRight);
  const auto with = [&](const std::string& from, const std::string& to) {
    return std::string(right).replace(right.find(from), from.size(), to) + "evil";
  };
  for (const std::string& wrong :
       {std::string(), std::string("nonsense\r\n\r\n"), with("\"1\"", "\"2\""),
        with("206 Partial Content", "200 OK"), with("bytes 0-3/4", "bytes 1-4/5"),
        with("0-3/4", "0-3/5"), right + "ev",
        std::string("HTTP/1.1 502 Bad Gateway\r\nConnection: close\r\n\r\n"),
        std::string("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"),
        std::string("HTTP/1.1 507 Insufficient Storage\r\nX-Cache-Status: MISS\r\n\r\n")}) {
    asked_ = 0;
    const auto answer = Ask([&](const auto& /*request*/, const auto& send) { send(wrong); });
    EXPECT_FALSE(answer.error) << wrong << answer.message;
    EXPECT_EQ(text_, "true") << wrong;
    EXPECT_EQ(asked_, 1) << wrong;
    EXPECT_EQ(counts_.cache_failures, 1U) << wrong;
  }
}

// SourceOf() sets timeout=1.
TEST_F(FetchServerViaTest, TheStoreIsAskedAfterAQuarterOfTheTimeout) {
  const auto begin = std::chrono::steady_clock::now();
  const auto answer = Ask([&](const auto& /*request*/, const auto& /*send*/) {
    std::this_thread::sleep_for(std::chrono::milliseconds(900));
  });
  EXPECT_FALSE(answer.error) << answer.message;
  EXPECT_EQ(text_, "true");
  EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(250));
}

TEST(FetchServerNoCacheTest, TheStoreIsAskedIfTheCacheIsNotThereAndALineIsLogged) {
  std::atomic<int> asked = 0;
  const HttpServer store([&](const std::string& /*request*/, const HttpServer::Send& send) {
    ++asked;
    send("HTTP/1.1 200 OK\r\nETag: \"1\"\r\nContent-Length: 4\r\nConnection: close\r\n\r\ntrue");
  });
  RemoteOptions options;
  options.caches = {"http://127.0.0.1:1"};
  Served served(SourceOf(store.url() + "/store", options));
  const auto answer = served.Ask({.range = ByteRange::At(0, 4), .length = 4, .key = "a"});
  EXPECT_EQ(answer.length, 4U) << answer.message;
  ASSERT_EQ(served.notices().size(), 1U);
  EXPECT_TRUE(served.notices()[0].starts_with("the cache http://127.0.0.1:1 is not asked for 60 s"))
      << served.notices()[0];
  EXPECT_EQ(asked, 1);
}

}  // namespace
}  // namespace zarrfs::fetch_server_test
