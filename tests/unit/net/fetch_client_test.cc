#include "zarrcore/net/fetch_client.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <functional>
#include <thread>

#include "zarrcore/net/fetch_channel.h"

namespace zarrfs::fetch_client_test {
namespace {

using Kind = FetchRequest::Kind;

// A client of a server that sends the results of `answer`; nullopt for no answer.
class FetchClientTest : public ::testing::Test {
 protected:
  using Answering = std::function<std::optional<FetchAnswer>(const FetchRequest&)>;

  ~FetchClientTest() override { Stop(); }
  // Stops the server. A test whose local variables the server uses must call this at its end.
  void Stop() {
    if (!server_.joinable()) return;
    shutdown(channel_.server.get(), SHUT_RDWR);
    server_.join();
  }
  std::shared_ptr<const Fetcher> Open(Answering answer) {
    channel_ = *FetchChannel::Make();
    server_ = std::thread([this, answer = std::move(answer)] {
      while (const auto request = ReceiveRequest(channel_.server, /*waits=*/true)) {
        if (request->kind == Kind::kHello) {
          Send(channel_.server, FetchAnswer{.id = request->id, .generation = 1});
        } else if (auto said = answer(*request)) {
          said->id = request->id;
          Send(channel_.server, *said);
        }
      }
    });
    const auto client = *OpenFetchClient(
        Descriptor(fcntl(channel_.client.get(), F_DUPFD_CLOEXEC, 0)), channel_.memory,
        std::chrono::seconds(30), [this](std::string_view line) { notice_ = line; });
    return client->FetcherOf(store_);
  }
  FetchChannel channel_;
  std::thread server_;
  uint32_t store_ = 0;
  std::string notice_;  // the last line for the log
  std::array<std::byte, 100> out_ = {};
};

TEST_F(FetchClientTest, RequestsSayWhoseObjectsTheyAreFor) {
  store_ = 7;
  const auto client = Open(
      [](const FetchRequest& request) { return FetchAnswer{.size = request.store, .length = 0}; });
  const auto fetched = client->Get("a", ByteRange::At(0, 10), nullptr, std::span(out_).first(10));
  ASSERT_TRUE(fetched);
  EXPECT_EQ(fetched->version.size, 7U);
}

TEST_F(FetchClientTest, ANoticeIsNoNewServer) {
  std::atomic<int> asked = 0;
  const auto client = Open([&](const FetchRequest&) {
    ++asked;
    Send(channel_.server, FetchAnswer{.id = 0, .generation = 1, .message = "for the log"});
    return FetchAnswer{.size = 1000};
  });
  ASSERT_TRUE(client->Get("a", ByteRange::At(0, 10), nullptr, std::span(out_).first(10)));
  EXPECT_EQ(notice_, "for the log");
  EXPECT_EQ(asked, 1) << "a new server would get the request again";
}

TEST_F(FetchClientTest, AnAnswerReachesNoFurtherThanItsRequest) {
  const auto client = Open([](const FetchRequest&) {
    return FetchAnswer{.size = 1000, .offset = 5, .length = 1u << 30, .etag = "\"1\""};
  });
  const auto fetched = client->Get("a", ByteRange::At(0, 10), nullptr, std::span(out_).first(10));
  ASSERT_TRUE(fetched);
  EXPECT_EQ(fetched->length, 10U);
  EXPECT_EQ(fetched->version.etag, "\"1\"");
}

TEST_F(FetchClientTest, AnErrorIsOneOfAStore) {
  std::atomic<ErrorCode> code = ErrorCode::kNotFound;
  const auto client =
      Open([&](const FetchRequest&) { return FetchAnswer{.error = code, .message = "why"}; });
  const auto get = [&] { return client->Get("a", ByteRange::At(0, 9), nullptr, out_).error(); };
  EXPECT_EQ(get().code, ErrorCode::kNotFound);
  EXPECT_EQ(get().message, "why");
  for (const ErrorCode other : {ErrorCode::kWouldBlock, ErrorCode::kInterrupted,
                                ErrorCode::kNoMemory, ErrorCode::kZarrfsMount}) {
    code = other;
    EXPECT_EQ(get().code, ErrorCode::kIo);
  }
  Stop();
}

TEST_F(FetchClientTest, AKeyThatIsTooLongIsRefusedAndHoldsNoMemory) {
  const auto client = Open([](const FetchRequest&) { return FetchAnswer{}; });
  const std::string key(20'000, 'k');
  std::vector<std::byte> large(kMaxFetchBytes);
  // More requests than the memory has room for.
  for (uint64_t i = 0; i < 2 * FetchChannel::kMemory / kMaxFetchBytes; ++i) {
    const auto fetched = client->Get(key, ByteRange::At(0, large.size()), nullptr, large);
    ASSERT_FALSE(fetched);
    EXPECT_EQ(fetched.error().code, ErrorCode::kInvalidArgument);
  }
}

TEST_F(FetchClientTest, ANewServerGetsWhatTheOldOneDidNotAnswer) {
  std::atomic<bool> is_new = false;
  const auto client = Open([&](const FetchRequest& request) -> std::optional<FetchAnswer> {
    if (!is_new.exchange(true)) {
      Send(channel_.server, FetchAnswer{.id = 0, .generation = 2});
      return std::nullopt;
    }
    EXPECT_EQ(request.generation, 2U);
    return FetchAnswer{.size = 7};
  });
  EXPECT_EQ(client->Get("a", ByteRange::At(0, 9), nullptr, out_)->version.size, 7U);
  Stop();
}

TEST_F(FetchClientTest, ThreadsGetTheirOwnBytes) {
  std::byte* mapped = nullptr;
  const auto client = Open([&](const FetchRequest& request) {
    if (mapped == nullptr) mapped = FetchChannel::Map(channel_.memory);
    std::fill_n(mapped + request.at, request.length, std::byte(request.key.front()));
    return FetchAnswer{.size = request.length, .length = request.length};
  });
  {
    std::vector<std::jthread> threads;
    for (const char name : {'a', 'b', 'c', 'd'}) {
      threads.emplace_back([&client, name] {
        std::array<std::byte, 5000> out = {};
        for (int turn = 0; turn < 50; ++turn) {
          ASSERT_TRUE(client->Get({&name, 1}, ByteRange::At(0, out.size()), nullptr, out));
          EXPECT_EQ(out.front(), std::byte(name));
          EXPECT_EQ(out.back(), std::byte(name));
        }
      });
    }
  }
  Stop();
}

}  // namespace
}  // namespace zarrfs::fetch_client_test
