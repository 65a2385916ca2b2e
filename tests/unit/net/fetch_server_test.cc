#include "zarrcore/net/fetch_server.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <thread>

namespace zarrfs::fetch_server_test {
namespace {

using Kind = FetchRequest::Kind;

// A server for a port where nobody listens.
class FetchServerTest : public ::testing::Test {
 protected:
  FetchServerTest() {
    RemoteOptions options;
    options.timeout = 1;
    source_ = *ParseRemoteSource("http://127.0.0.1:1/store", options);
    channel_ = *FetchChannel::Make();
    server_ = std::thread([this] { RunFetchServer(source_, channel_); });
    const auto begun = ReceiveAnswer(channel_.client, /*waits=*/true);
    EXPECT_EQ(begun->id, 0U);
    generation_ = begun->generation;
  }
  ~FetchServerTest() override {
    shutdown(channel_.client.get(), SHUT_RDWR);
    server_.join();
  }
  FetchAnswer Ask(FetchRequest request) {
    request.kind = Kind::kGet;
    request.id = ++id_;
    request.generation = generation_;
    EXPECT_TRUE(Send(channel_.client, request));
    return *ReceiveAnswer(channel_.client, /*waits=*/true);
  }
  RemoteSource source_;
  FetchChannel channel_;
  std::thread server_;
  uint64_t generation_ = 0;
  uint64_t id_ = 0;
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

}  // namespace
}  // namespace zarrfs::fetch_server_test
