#include "zarrcore/open/recent_failures.h"

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <memory>
#include <string>
#include <thread>

#include "tests/unit/support/fake_store.h"

namespace zarrfs::recent_failures_test {
namespace {

using std::chrono::milliseconds;
using Call = FakeStore::Call;

struct RecentFailuresTest : testing::Test {
  RecentFailuresTest() {
    for (const char* const key : {"a", "b"}) server->Put(key, "text");
  }
  // Makes requests for `key` fail after a delay that counts as long in these tests.
  void Hang(std::string_view key, ErrorCode code = ErrorCode::kTimedOut) const {
    for (const Call call : FakeStore::kAllCalls) {
      server->FailWith(call, std::string(key), {code, "no answer"});
      server->Delay(call, std::string(key), milliseconds(30));
    }
  }
  void Answer() const { server->ClearFaults(); }
  ErrorCode CodeOf(const std::string& key) const {
    const auto info = store->Stat(key);
    return info ? ErrorCode::kUnsupported : info.error().code;
  }
  static void Sleep(milliseconds time) { std::this_thread::sleep_for(time); }

  const std::shared_ptr<FakeStore> server = std::make_shared<FakeStore>();
  const std::shared_ptr<Store> store = RememberFailures(
      server, {.costly_ns = 20'000'000, .max_hold_ns = 200'000'000, .hold_all_ns = 100'000'000});
};

TEST_F(RecentFailuresTest, AServerThatDoesNotAnswerIsWaitedForOnce) {
  Hang("");
  for (int i = 0; i < 10; ++i) EXPECT_EQ(CodeOf("a"), ErrorCode::kTimedOut);
  EXPECT_EQ(CodeOf("b"), ErrorCode::kTimedOut) << "nor is another object asked for";
  EXPECT_EQ(store->List("").error().code, ErrorCode::kTimedOut);
  EXPECT_EQ(server->total_count(), 1);
}

TEST_F(RecentFailuresTest, ItIsAskedAgainSoon) {
  Hang("");
  EXPECT_EQ(CodeOf("a"), ErrorCode::kTimedOut);
  Answer();
  Sleep(milliseconds(250));
  EXPECT_TRUE(store->Stat("a"));
  EXPECT_TRUE(store->Stat("b"));
}

TEST_F(RecentFailuresTest, OtherObjectsAreReadWhereTheServerAnswersForThem) {
  Hang("a");
  EXPECT_TRUE(store->Stat("b"));
  std::jthread waits([&] { EXPECT_EQ(CodeOf("a"), ErrorCode::kTimedOut); });
  Sleep(milliseconds(10));
  EXPECT_TRUE(store->Stat("b")) << "answered while the other request waits";
  waits.join();
  const uint64_t before = server->total_count();
  EXPECT_EQ(CodeOf("a"), ErrorCode::kTimedOut);
  EXPECT_EQ(server->total_count(), before);
  EXPECT_TRUE(store->Stat("b"));
}

TEST_F(RecentFailuresTest, AnObjectThatWasOpenedIsNotWaitedForAgainEither) {
  const auto object = store->Read("a", ByteRange::At(0, 0), {}).value().object;
  Hang("");
  std::array<std::byte, 4> bytes{};
  EXPECT_EQ(object->Read(0, bytes).error().code, ErrorCode::kTimedOut);
  const uint64_t before = server->total_count();
  EXPECT_EQ(object->Read(0, bytes).error().code, ErrorCode::kTimedOut);
  EXPECT_EQ(CodeOf("a"), ErrorCode::kTimedOut);
  EXPECT_EQ(server->total_count(), before);
}

TEST_F(RecentFailuresTest, WhatTheServerSaysAndWhatFailsAtOnceIsAskedAgain) {
  for (const ErrorCode code : {ErrorCode::kNotFound, ErrorCode::kPermissionDenied,
                               ErrorCode::kInterrupted, ErrorCode::kWouldBlock}) {
    Hang("", code);
    server->ResetCounts();
    for (int i = 0; i < 3; ++i) EXPECT_EQ(CodeOf("a"), code);
    EXPECT_EQ(server->total_count(), 3);
    Answer();
  }
  server->FailWith(Call::kStat, "", {ErrorCode::kTimedOut, "no answer"});
  server->ResetCounts();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(CodeOf("a"), ErrorCode::kTimedOut);
  EXPECT_EQ(server->total_count(), 3);
}

}  // namespace
}  // namespace zarrfs::recent_failures_test
