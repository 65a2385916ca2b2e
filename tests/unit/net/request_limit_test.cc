#include "zarrcore/net/request_limit.h"

#include <gtest/gtest.h>

namespace zarrfs::request_limit_test {
namespace {

// A server that gets as many requests as the limit allows, and refuses those above `bears`.
struct Server {
  RequestLimit limit{64};
  RequestLimit::Time time{std::chrono::hours(1)};
  size_t answered = 0;
  size_t refused = 0;

  void Rounds(int rounds, size_t bears) {
    for (int round = 0; round < rounds; ++round) {
      const auto begun = time;
      time += std::chrono::milliseconds(50);
      const size_t sent = limit.now();
      for (size_t i = 0; i < sent; ++i) {
        limit.Count(i >= bears, begun, time);
        ++(i >= bears ? refused : answered);
      }
    }
  }
};

TEST(RequestLimitTest, IsWhatTheServerBearsAfterOneRound) {
  for (const size_t bears : {1, 4, 20, 50}) {
    Server server;
    server.Rounds(1, bears);
    EXPECT_EQ(server.limit.now(), bears);
    server.refused = 0;
    server.Rounds(200, bears);
    EXPECT_LE(server.refused, server.answered / 5) << bears;
    EXPECT_GE(server.limit.now(), bears);
  }
}

TEST(RequestLimitTest, GrowsToTheMostAgain) {
  Server server;
  server.Rounds(1, 4);
  server.Rounds(300, 1000);
  EXPECT_EQ(server.limit.now(), 64U);
}

TEST(RequestLimitTest, AMomentWithoutAnyAnswerIsSoonForgotten) {
  Server server;
  server.Rounds(1, 0);
  server.Rounds(60, 1000);
  EXPECT_EQ(server.limit.now(), 64U);
}

TEST(RequestLimitTest, IsNeverNone) {
  Server server;
  server.Rounds(10, 0);
  EXPECT_EQ(server.limit.now(), 1U);
  server.Rounds(10, 1000);
  EXPECT_GT(server.limit.now(), 1U);
}

TEST(RequestLimitTest, ARefusalNowAndThenSaysNothing) {
  Server server;
  for (int i = 0; i < 10'000; ++i) {
    server.time += std::chrono::milliseconds(1);
    server.limit.Count(i % 20 == 0, server.time, server.time);
  }
  EXPECT_EQ(server.limit.now(), 64U);
}

TEST(RequestLimitTest, RequestsOfTheLimitBeforeSayNothing) {
  Server server;
  const auto before = server.time;
  server.Rounds(1, 16);
  for (int i = 0; i < 1000; ++i) server.limit.Count(true, before, server.time);
  EXPECT_EQ(server.limit.now(), 16U);
}

}  // namespace
}  // namespace zarrfs::request_limit_test
