#include "zarrcore/net/fetch_policy.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

namespace zarrfs::fetch_policy_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Due = FetchPolicy::Due;
using Kind = FetchPolicy::Decision::Kind;
using Request = FetchRequest::Kind;

constexpr int64_t kUnixTime = 1'700'000'000;
const FetchPolicy::Time kStart{seconds(1'000'000)};

// A policy, an origin, and jobs for it. Time stands still unless a test moves it.
struct Fixture {
  explicit Fixture(const RemoteOptions& options = {}, uint32_t seed = 1)
      : origin(*ParseRemoteSource("https://host/store", options), options.connections),
        policy(options, seed) {}

  FetchJob Job(FetchRequest request = {.kind = Request::kGet, .range = {.length = 100}}) {
    request.key = "a/zarr.json";
    return {.request = std::move(request),
            .origin = origin,
            .deadline = FetchPolicy::DeadlineOf(origin, now),
            .next = now};
  }
  FetchPolicy::Decision Decide(FetchJob& job, Verdict verdict, const HttpReply& reply = {}) {
    return policy.Decide(job, reply, std::move(verdict), "https://host/store/a/zarr.json", now,
                         kUnixTime, [this] { return has_new_key; });
  }

  Origin origin;
  FetchPolicy policy;
  FetchPolicy::Time now = kStart;
  bool has_new_key = false;
};

FetchRequest Data(uint64_t length = 100) {
  return {.kind = Request::kGet, .range = {.length = length}, .is_conditional = true};
}

Verdict Transient() {
  return {.kind = Verdict::Kind::kAgain, .error = {ErrorCode::kTimedOut, "no connection"}};
}

Verdict Permanent(ErrorCode code) { return {.kind = Verdict::Kind::kError, .error = {code, "no"}}; }

TEST(FetchPolicyTest, AStoreThatHasNeverAnsweredGetsTenSeconds) {
  RemoteOptions options;
  options.timeout = 60;
  Fixture fixture(options);
  EXPECT_EQ(fixture.Job().deadline, kStart + seconds(10));
  fixture.origin.has_answered = true;
  EXPECT_EQ(fixture.Job().deadline, kStart + seconds(60));
  options.timeout = 3;
  EXPECT_EQ(Fixture(options).Job().deadline, kStart + seconds(3));
}

TEST(FetchPolicyTest, AnyResponseIsAnAnswerOfTheStore) {
  Fixture fixture;
  FetchJob job = fixture.Job();
  (void)fixture.Decide(job, Transient());
  EXPECT_FALSE(fixture.origin.has_answered);
  HttpReply reply;
  reply.status = 503;
  (void)fixture.Decide(job, Transient(), reply);
  EXPECT_TRUE(fixture.origin.has_answered);
}

TEST(FetchPolicyTest, ConnectionsAreReservedForNames) {
  struct {
    size_t connections, names, data;
  } const rows[] = {{1, 1, 1}, {2, 2, 1}, {8, 8, 7}, {16, 16, 14}, {64, 64, 56}};
  for (const auto& row : rows) {
    RemoteOptions options;
    options.connections = row.connections;
    Fixture fixture(options);
    FetchJob name = fixture.Job();
    FetchJob data = fixture.Job(Data());
    EXPECT_TRUE(fixture.policy.MayBegin(name, row.names - 1)) << row.connections;
    EXPECT_FALSE(fixture.policy.MayBegin(name, row.names)) << row.connections;
    EXPECT_TRUE(fixture.policy.MayBegin(data, row.data - 1)) << row.connections;
    EXPECT_FALSE(fixture.policy.MayBegin(data, row.data)) << row.connections;
    // The same holds for the requests to one origin.
    fixture.origin.running = row.data;
    EXPECT_FALSE(fixture.policy.MayBegin(data, 0)) << row.connections;
  }
}

TEST(FetchPolicyTest, RequestsBelowAPrefixAreForData) {
  Fixture fixture;
  EXPECT_FALSE(FetchPolicy::IsData(fixture.Job()));
  EXPECT_TRUE(FetchPolicy::IsData(fixture.Job(Data())));
  EXPECT_TRUE(FetchPolicy::IsData(fixture.Job({.kind = Request::kGet, .store = 1})));
  EXPECT_FALSE(FetchPolicy::IsData(fixture.Job({.kind = Request::kList})));
}

TEST(FetchPolicyTest, ATransientErrorIsRepeatedAfterAGrowingPause) {
  // The maximum pause after each attempt.
  const std::vector<milliseconds> pauses = {
      milliseconds(200),  milliseconds(400),  milliseconds(800),  milliseconds(1600),
      milliseconds(3200), milliseconds(5000), milliseconds(5000), milliseconds(5000)};
  for (uint32_t seed = 0; seed < 20; ++seed) {
    Fixture fixture({}, seed);
    FetchJob job = fixture.Job();
    for (const milliseconds most : pauses) {
      fixture.policy.OnBegin(job, fixture.now);
      EXPECT_EQ(fixture.Decide(job, Transient()).kind, Kind::kRepeat);
      EXPECT_GE(job.next - fixture.now, most / 4);
      EXPECT_LE(job.next - fixture.now, most);
    }
  }
}

TEST(FetchPolicyTest, RetryAfterIsAwaited) {
  Fixture fixture;
  FetchJob job = fixture.Job();
  HttpReply reply;
  reply.status = 503;
  reply.retry_after_s = 7;
  EXPECT_EQ(fixture.Decide(job, Transient(), reply).kind, Kind::kRepeat);
  EXPECT_EQ(job.next, kStart + seconds(7));
}

TEST(FetchPolicyTest, AJobIsDueBetweenItsPauseAndItsDeadline) {
  Fixture fixture;
  FetchJob job = fixture.Job();
  job.next = kStart + seconds(2);
  job.deadline = kStart + seconds(5);
  struct {
    int seconds;
    Due due;
  } const rows[] = {{0, Due::kLater}, {1, Due::kLater},   {2, Due::kNow},
                    {4, Due::kNow},   {5, Due::kTooLate}, {9, Due::kTooLate}};
  for (const auto& row : rows) {
    const auto now = kStart + seconds(row.seconds);
    EXPECT_EQ(fixture.policy.DueAt(job, 0, now), row.due) << row.seconds;
    EXPECT_EQ(fixture.policy.NextChange(job, 0, now), job.next);
  }
  // Without a free connection, only the deadline changes anything.
  const size_t all = RemoteOptions{}.connections;
  EXPECT_EQ(fixture.policy.DueAt(job, all, kStart + seconds(3)), Due::kLater);
  EXPECT_EQ(fixture.policy.NextChange(job, all, kStart), job.deadline);
}

TEST(FetchPolicyTest, AJobThatIsTooLateFailsLikeItsLastAttempt) {
  Fixture fixture;
  FetchJob job = fixture.Job();
  EXPECT_EQ(FetchPolicy::TooLate(job).message, "https://host/store/a/zarr.json: no answer in time");
  fixture.policy.OnBegin(job, fixture.now);
  (void)fixture.Decide(job, Transient());
  EXPECT_EQ(FetchPolicy::TooLate(job).message, "no connection");
  fixture.policy.OnBegin(job, fixture.now);
  EXPECT_EQ(FetchPolicy::TooLate(job).message, "no connection, 2 times");
}

TEST(FetchPolicyTest, AnAttemptLastsAtLeastASecond) {
  Fixture fixture;
  FetchJob job = fixture.Job();
  job.deadline = kStart + milliseconds(1500);
  EXPECT_EQ(FetchPolicy::LimitOf(job, kStart), milliseconds(1500));
  EXPECT_EQ(FetchPolicy::LimitOf(job, kStart + milliseconds(1400)), milliseconds(1000));
  EXPECT_EQ(FetchPolicy::LimitOf(job, kStart + seconds(9)), milliseconds(1000));
}

TEST(FetchPolicyTest, AMissingListingIsNoProofThatTheFolderIsEmpty) {
  Fixture fixture;
  FetchJob object = fixture.Job();
  EXPECT_EQ(fixture.Decide(object, Permanent(ErrorCode::kNotFound)).error.code,
            ErrorCode::kNotFound);
  FetchJob listing = fixture.Job({.kind = Request::kList});
  EXPECT_EQ(fixture.Decide(listing, Permanent(ErrorCode::kNotFound)).error.code,
            ErrorCode::kPermissionDenied);
}

TEST(FetchPolicyTest, BytesAnswerTheRequestUnlessOnlyTheVersionWasRequested) {
  Fixture fixture;
  FetchJob job = fixture.Job();
  EXPECT_EQ(fixture.Decide(job, {}).kind, Kind::kBytes);
  job.on_disk = Version{};
  EXPECT_EQ(fixture.Decide(job, {}).kind, Kind::kVersion);
}

TEST(FetchPolicyTest, AnObjectWithoutTheRangeIsRequestedOnceWithoutARange) {
  Fixture fixture;
  FetchJob job = fixture.Job();
  job.on_disk = Version{};
  job.next = {};
  const Verdict no_range{.kind = Verdict::Kind::kNoRange};
  EXPECT_EQ(fixture.Decide(job, no_range).kind, Kind::kRepeat);
  EXPECT_TRUE(job.no_range);
  EXPECT_FALSE(job.on_disk);
  EXPECT_EQ(job.next, kStart);
  EXPECT_EQ(fixture.Decide(job, no_range).error.code, ErrorCode::kIo);
  FetchJob listing = fixture.Job({.kind = Request::kList});
  EXPECT_EQ(fixture.Decide(listing, no_range).kind, Kind::kError);
}

TEST(FetchPolicyTest, AWrongClockIsCorrectedOnce) {
  const Verdict other_time{.kind = Verdict::Kind::kOtherTime,
                           .error = {ErrorCode::kPermissionDenied, "clock"}};
  Fixture fixture;
  FetchJob job = fixture.Job();
  FetchJob other = fixture.Job();
  fixture.policy.OnBegin(job, fixture.now);
  fixture.policy.OnBegin(other, fixture.now);
  HttpReply reply;
  EXPECT_EQ(fixture.Decide(job, other_time, reply).kind, Kind::kError);  // without a Date
  reply.date_s = kUnixTime + 3600;
  EXPECT_EQ(fixture.Decide(job, other_time, reply).kind, Kind::kRepeat);
  EXPECT_EQ(fixture.origin.clock_error_s, 3600);
  // The other request was signed before the correction, so it is repeated, too.
  EXPECT_EQ(fixture.Decide(other, other_time, reply).kind, Kind::kRepeat);
  fixture.policy.OnBegin(job, fixture.now);
  reply.date_s = kUnixTime + 3605;
  EXPECT_EQ(fixture.Decide(job, other_time, reply).kind, Kind::kError);
}

TEST(FetchPolicyTest, AnExpiredKeyIsReplacedOrTheRequestFails) {
  const Verdict other_key{.kind = Verdict::Kind::kOtherKey,
                          .error = {ErrorCode::kPermissionDenied, "expired"}};
  Fixture fixture;
  FetchJob job = fixture.Job();
  EXPECT_EQ(fixture.Decide(job, other_key).error.message, "expired");
  fixture.has_new_key = true;
  EXPECT_EQ(fixture.Decide(job, other_key).kind, Kind::kRepeat);
}

TEST(FetchPolicyTest, OnlyTheStoreItselfRefusesCredentials) {
  Fixture fixture;
  for (const long status : {401L, 403L, 404L}) {
    FetchJob job = fixture.Job();
    HttpReply reply;
    reply.status = status;
    EXPECT_EQ(fixture.Decide(job, Permanent(ErrorCode::kPermissionDenied), reply).is_refused,
              status != 404);
    job.redirections = 1;  // another host had the address
    EXPECT_FALSE(fixture.Decide(job, Permanent(ErrorCode::kPermissionDenied), reply).is_refused);
  }
}

TEST(FetchPolicyTest, BandwidthDelaysDataAndItsDeadline) {
  RemoteOptions options;
  options.bandwidth = 1 << 20;
  Fixture fixture(options);
  fixture.origin.has_answered = true;
  FetchJob first = fixture.Job(Data(4 << 20));
  EXPECT_EQ(fixture.policy.DueAt(first, 0, kStart), Due::kNow);
  fixture.policy.OnBegin(first, kStart);
  FetchJob second = fixture.Job(Data());
  FetchJob name = fixture.Job();
  EXPECT_EQ(fixture.policy.DueAt(name, 0, kStart), Due::kNow);
  EXPECT_EQ(fixture.policy.DueAt(second, 0, kStart), Due::kLater);
  // Four seconds of data, one of which may be sent at once.
  EXPECT_EQ(fixture.policy.NextChange(second, 0, kStart), kStart + seconds(3));
  EXPECT_EQ(fixture.policy.DueAt(second, 0, kStart + seconds(2)), Due::kLater);
  EXPECT_EQ(second.deadline, kStart + seconds(2) + seconds(fixture.origin.source.options.timeout));
  EXPECT_EQ(fixture.policy.DueAt(second, 0, kStart + seconds(3)), Due::kNow);
  // A request that received less than it was charged for gives the rest back.
  fixture.policy.OnEnd(first, 2 << 20);
  EXPECT_EQ(fixture.policy.DueAt(second, 0, kStart + seconds(1)), Due::kNow);
}

}  // namespace
}  // namespace zarrfs::fetch_policy_test
