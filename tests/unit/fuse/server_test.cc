#include "fs/fuse/server.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "fs/fuse/waiting_room.h"
#include "tests/unit/array/array_testing.h"
#include "tests/unit/fuse/kernel.h"

namespace zarrfs::server_test {
namespace {

using std::chrono::milliseconds;
using Call = FakeStore::Call;

constexpr int kChunks = 64;

std::string Chunk(int number) { return {static_cast<char>(7 + number)}; }

// An array of chunks of one byte.
std::shared_ptr<FakeStore> MakeStore(bool answers_fast) {
  auto store = std::make_shared<FakeStore>();
  store->Put("zarr.json", ArrayText("[64]", "[1]", R"({"name": "bytes"})"));
  for (int i = 0; i < kChunks; ++i) store->Put(fmt::format("c/{}", i), Chunk(i));
  store->SetAnswersFast(answers_fast);
  return store;
}

uint64_t IdIn(const Kernel::Answer& answer) {
  fuse_entry_out entry{};
  if (answer.body.size() >= sizeof entry) std::memcpy(&entry, answer.body.data(), sizeof entry);
  return entry.nodeid;
}

// With a store that answers fast the thread that takes a request answers it; with another one, a
// waiting room does.
class ServerTest : public testing::TestWithParam<bool> {
 protected:
  // So that a READ of it waits for the store alone.
  uint64_t IdOfFirst() { return IdIn(kernel.AnswerTo(kernel.LookUp("0"))); }

  const std::shared_ptr<FakeStore> store = MakeStore(GetParam());
  Kernel kernel{store};
};
INSTANTIATE_TEST_SUITE_P(Store, ServerTest, testing::Bool(),
                         [](const auto& store) { return store.param ? "Fast" : "Slow"; });

TEST_P(ServerTest, AnswersWithTheBytesOfAChunk) {
  const Kernel::Answer answer = kernel.AnswerTo(kernel.Read(IdOfFirst()));
  EXPECT_EQ(answer.error, 0);
  EXPECT_EQ(answer.body, Chunk(0));
}

TEST_P(ServerTest, AnInterruptedReadIsAnsweredThoughTheStoreHangs) {
  const uint64_t id = IdOfFirst();
  store->Block(Call::kRead, "c/0");
  store->Block(Call::kObjectRead, "c/0");
  const uint64_t read = kernel.Read(id);
  ASSERT_TRUE(store->WaitUntilBlocked());
  kernel.Interrupt(read);
  EXPECT_EQ(kernel.AnswerTo(read).error, -EINTR);
  // The late answer is dropped, and the next reader has its own.
  store->ClearFaults();
  EXPECT_TRUE(kernel.IsSilent(milliseconds(20)));
  EXPECT_EQ(kernel.AnswerTo(kernel.Read(id)).body, Chunk(0));
}

TEST_P(ServerTest, AnInterruptedNameIsThereThoughTheStoreHangs) {
  store->Block(Call::kStat, "c/0");
  store->Block(Call::kRead, "c/0");
  const uint64_t lookup = kernel.LookUp("0");
  ASSERT_TRUE(store->WaitUntilBlocked());
  kernel.Interrupt(lookup);
  // Absent would read as the fill value; and old readers take any error for that, too.
  const Kernel::Answer answer = kernel.AnswerTo(lookup);
  EXPECT_EQ(answer.error, 0);
  EXPECT_NE(IdIn(answer), 0U);
  store->ClearFaults();
  EXPECT_TRUE(kernel.IsSilent(milliseconds(20)));
}

TEST_P(ServerTest, AnInterruptionThatComesBeforeItsRequestCounts) {
  const uint64_t id = IdOfFirst();
  store->Block(Call::kRead, "c/0");
  store->Block(Call::kObjectRead, "c/0");
  kernel.Interrupt(kernel.NextNumber());
  EXPECT_EQ(kernel.AnswerTo(kernel.Read(id)).error, -EINTR);
  store->ClearFaults();
}

TEST_P(ServerTest, AnInterruptionAfterTheAnswerChangesNothing) {
  const uint64_t id = IdOfFirst();
  const uint64_t read = kernel.Read(id);
  EXPECT_EQ(kernel.AnswerTo(read).body, Chunk(0));
  kernel.Interrupt(read);
  EXPECT_EQ(kernel.AnswerTo(kernel.Read(id)).body, Chunk(0));
  EXPECT_EQ(kernel.AnswerTo(kernel.Read(id)).body, Chunk(0));
}

// Whether the interruption or the answer is first: there is one answer, and it is right.
TEST_P(ServerTest, AnInterruptionThatMeetsTheAnswerGivesOneOfBoth) {
  store->Delay(Call::kRead, "c/", milliseconds(1));
  store->Delay(Call::kObjectRead, "c/", milliseconds(1));
  for (int i = 0; i < kChunks; ++i) {
    const uint64_t read = kernel.Read(IdIn(kernel.AnswerTo(kernel.LookUp(fmt::format("{}", i)))));
    std::this_thread::sleep_for(std::chrono::microseconds(50 * i));
    kernel.Interrupt(read);
    const Kernel::Answer answer = kernel.AnswerTo(read);
    EXPECT_TRUE(answer.error == 0 || answer.error == -EINTR) << answer.error;
    if (answer.error == 0) {
      EXPECT_EQ(answer.body, Chunk(i));
    }
  }
  EXPECT_TRUE(kernel.IsSilent(milliseconds(20)));
}

TEST_P(ServerTest, ProgressShowsWhatWaitsForTheStore) {
  const uint64_t id = IdOfFirst();
  // A thread is free again some time after its reply.
  const auto all_free = [&] { return kernel.server().progress().free_threads == Kernel::kThreads; };
  for (int i = 0; i < 2000 && !all_free(); ++i) std::this_thread::sleep_for(milliseconds(5));
  const Server::Progress before = kernel.server().progress();
  EXPECT_EQ(before.unanswered, 0U);
  EXPECT_EQ(before.free_threads, Kernel::kThreads);
  store->Block(Call::kRead, "c/0");
  store->Block(Call::kObjectRead, "c/0");
  const uint64_t read = kernel.Read(id);
  ASSERT_TRUE(store->WaitUntilBlocked());
  const auto has_age = [&] { return kernel.server().progress().oldest > milliseconds(5); };
  for (int i = 0; i < 2000 && !has_age(); ++i) std::this_thread::sleep_for(milliseconds(5));
  const Server::Progress now = kernel.server().progress();
  EXPECT_GT(now.oldest, milliseconds(5));
  EXPECT_EQ(now.unanswered, 1U);
  EXPECT_EQ(now.answered, before.answered);
  EXPECT_EQ(now.free_threads, Kernel::kThreads - (GetParam() ? 1 : 0));
  store->ClearFaults();
  EXPECT_EQ(kernel.AnswerTo(read).error, 0);
  EXPECT_EQ(kernel.server().progress().answered, before.answered + 1);
}

TEST_P(ServerTest, EveryRequestHasOneAnswer) {
  std::vector<uint64_t> requests;
  std::mt19937 random(1);
  store->Delay(Call::kRead, "", milliseconds(1));
  const uint64_t id = IdOfFirst();
  for (int i = 0; i < 150; ++i) {
    requests.push_back(i % 2 == 0 ? kernel.Read(id)
                                  : kernel.LookUp(fmt::format("{}", i % kChunks)));
    if (random() % 3 == 0) kernel.Interrupt(requests[random() % requests.size()]);
  }
  for (const uint64_t each : requests) {
    const int error = kernel.AnswerTo(each).error;
    EXPECT_TRUE(error == 0 || error == -EINTR) << error;
  }
  EXPECT_TRUE(kernel.IsSilent(milliseconds(20)));
}

// The rooms have 64 threads each. What waits behind them can be interrupted as well.
TEST(ServerQueueTest, AnInterruptedRequestNeedsNoThread) {
  const auto store = MakeStore(/*answers_fast=*/false);
  Kernel kernel(store);
  const uint64_t id = IdIn(kernel.AnswerTo(kernel.LookUp("0")));
  store->Block(Call::kRead, "c/0");
  store->Block(Call::kObjectRead, "c/0");
  std::vector<uint64_t> reads;
  for (size_t i = 0; i < kMinWaitingThreads + 8; ++i) reads.push_back(kernel.Read(id));
  ASSERT_TRUE(store->WaitUntilBlocked(1));
  kernel.Interrupt(reads.back());
  EXPECT_EQ(kernel.AnswerTo(reads.back()).error, -EINTR);
  // Names have a room of their own.
  EXPECT_NE(IdIn(kernel.AnswerTo(kernel.LookUp("1"))), 0U);
  store->ClearFaults();
  reads.pop_back();
  for (const uint64_t each : reads) EXPECT_EQ(kernel.AnswerTo(each).body, Chunk(0));
}

}  // namespace
}  // namespace zarrfs::server_test
