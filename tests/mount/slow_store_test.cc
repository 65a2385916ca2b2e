// A store that hangs delays only the requests that need the store.

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>

#include <chrono>
#include <filesystem>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "tests/mount/fake_mount.h"
#include "tests/mount/programs.h"
#include "tests/mount/sample_store.h"

namespace zarrfs::slow_store_test {
namespace {

namespace fs = std::filesystem;

using Clock = std::chrono::steady_clock;

class SlowStoreTest : public testing::Test {
 protected:
  // Writes an array with one chunk per shard, because one call would fetch several chunks of a
  // shard.
  void WriteLine(uint64_t count) const {
    const SampleArray line{.shape = {count}, .shard = {1}, .chunk = {1}};
    Replace(store_ / "line/zarr.json", line.ZarrJson());
    for (uint64_t i = 0; i < count; ++i) {
      Replace(store_ / "line/c" / std::to_string(i), EncodeShard(1, {{0, Pattern(2, i)}}));
    }
  }

  TemporaryFolder folder_;
  const fs::path store_ = folder_ / "sample.zarr";
  const std::map<std::string, std::string> chunks_ = WriteSampleStore(store_);
};

// Threads that wait for the mount. The destructor releases them.
class Waiters {
 public:
  explicit Waiters(FakeMount& mount) : mount_(mount) {}
  ~Waiters() {
    mount_.Order("release");
    for (std::thread& thread : threads_) thread.join();
  }
  Waiters(const Waiters&) = delete;
  Waiters& operator=(const Waiters&) = delete;
  template <typename Wait>
  void Start(int count, Wait wait) {
    for (int i = 0; i < count; ++i) threads_.emplace_back(wait, i);
  }

 private:
  FakeMount& mount_;
  std::vector<std::thread> threads_;
};

TEST_F(SlowStoreTest, AnswersComeThrough) {
  FakeMount mount(store_, "");
  for (const auto& [name, bytes] : chunks_) EXPECT_EQ(ReadFile(mount / "v2/a" / name), bytes);
  EXPECT_EQ(Shell("ls " + (mount / "v3/a/c/3").string()).output, "0\n");
}

TEST_F(SlowStoreTest, InterruptedListingEndsAtOnce) {
  FakeMount mount(store_, "ttl=0");
  EXPECT_EQ(Shell("ls " + (mount / "v2/a").string()).code, 0);
  mount.Order("block a");
  Program ls({"ls", "-l", mount / "v2/a"}, folder_ / "out", folder_ / "err");
  mount.Order("waiting 1");
  EXPECT_EQ(ls.WaitFor(Seconds(0.2)), std::nullopt) << "it waits for the store";
  const auto start = Clock::now();
  ls.Signal(SIGINT);
  EXPECT_EQ(ls.WaitFor(Seconds(5)), 128 + SIGINT);
  EXPECT_LT(Seconds(Clock::now() - start).count(), 1 * SanitizerFactor());
}

TEST_F(SlowStoreTest, InterruptedLookupOfAChunkIsNoAbsence) {
  FakeMount mount(store_, "ttl=0");
  EXPECT_EQ(ReadFile(mount / "v2/a/1.1"), chunks_.at("1.1"));
  mount.Order("block a");
  // A program with a handler for a signal that is unrelated to the mount. The program prints the
  // result of os.path.isfile() for the name.
  Program python({"/usr/bin/python3", "-c",
                  "import os, signal, sys\n"
                  "signal.signal(signal.SIGALRM, lambda *_: None)\n"
                  "signal.setitimer(signal.ITIMER_REAL, 0.5)\n"
                  "print(os.path.isfile(sys.argv[1]))\n",
                  mount / "v2/a/1.2"},
                 folder_ / "out", folder_ / "err");
  EXPECT_EQ(python.WaitFor(Seconds(10)), 0);
  EXPECT_EQ(ReadFile(folder_ / "out"), "True\n");
  mount.Order("release");
  EXPECT_EQ(ReadFile(mount / "v2/a/1.2"), chunks_.at("1.2")) << "that is not remembered";
}

TEST_F(SlowStoreTest, InterruptedReadEndsAtOnce) {
  FakeMount mount(store_, "immutable");
  EXPECT_EQ(Shell("stat " + (mount / "v2/a/1.2").string()).code, 0);
  mount.Order("block a/c");
  Program cat({"cat", mount / "v2/a/1.2"}, folder_ / "out", folder_ / "err");
  mount.Order("waiting 1");
  const auto start = Clock::now();
  cat.Signal(SIGINT);
  EXPECT_EQ(cat.WaitFor(Seconds(5)), 128 + SIGINT);
  EXPECT_LT(Seconds(Clock::now() - start).count(), 1 * SanitizerFactor());
  mount.Order("release");
  EXPECT_EQ(ReadFile(mount / "v2/a/1.2"), chunks_.at("1.2")) << "and it serves on";
}

// Expects that cached answers come fast while other requests wait. The requests come from programs
// that can be killed.
void ExpectCachedAnswers(const FakeMount& mount) {
  const auto ask = [](const std::vector<std::string>& words) {
    const auto start = Clock::now();
    const Outcome outcome = RunProgram(words, Seconds(5));
    EXPECT_LT(Seconds(Clock::now() - start).count(), 1 * SanitizerFactor()) << words[0];
    return outcome;
  };
  // The index of the chunk's shard is cached, but the chunk's name was never looked up.
  EXPECT_EQ(ask({"stat", "-c", "%s", mount / "v2/a/1.1"}).output, "513\n");
  EXPECT_EQ(ask({"stat", "-c", "%F", mount / "v3/a/zarr.json"}).output, "regular file\n");
  // First from the page cache, then bypassing it.
  EXPECT_GT(ask({"cat", mount / "v3/a/zarr.json"}).output.size(), 100U);
  EXPECT_GT(ask({"dd", "bs=64k", "iflag=direct", "status=none",
                 "if=" + (mount / "v2/a/.zarray").string()})
                .output.size(),
            100U);
  EXPECT_GT(ask({"cat", mount / "v2/a/.zattrs"}).output.size(), 5U) << "read for the first time";
}

// The parameter is the beginning of the options of FakeMount.
class AnyStoreTest : public SlowStoreTest, public testing::WithParamInterface<std::string> {};

INSTANTIATE_TEST_SUITE_P(, AnyStoreTest, testing::Values("", "local,"),
                         [](const auto& test) { return test.param.empty() ? "Slow" : "Local"; });

TEST_P(AnyStoreTest, CachedAnswersComeWhileTwoHundredLookupsWait) {
  // Two hundred groups. The array in each was never looked up.
  for (int i = 0; i < 200; ++i) {
    const fs::path group = store_ / ("g" + std::to_string(i));
    Replace(group / "zarr.json", GroupJson());
    Replace(group / "array/zarr.json", SampleArrayOfStore().ZarrJson());
  }
  FakeMount mount(store_, GetParam() + "immutable");
  EXPECT_EQ(ReadFile(mount / "v2/a/0.0"), chunks_.at("0.0"));
  EXPECT_TRUE(fs::exists(mount / "v3/a"));
  for (int i = 0; i < 200; ++i) EXPECT_TRUE(fs::exists(mount / ("v2/g" + std::to_string(i))));
  {
    Waiters waiters(mount);
    mount.Order("block g");
    waiters.Start(200, [&](int i) {
      struct stat info;
      stat((mount / ("v2/g" + std::to_string(i)) / "array").c_str(), &info);
    });
    mount.Order("waiting 50");
    ExpectCachedAnswers(mount);
  }
  EXPECT_TRUE(fs::exists(mount / "v2/g199/array"));
}

TEST_P(AnyStoreTest, WhatIsNotAnsweredForLongIsNamedInTheLog) {
  Replace(store_ / "b/zarr.json", SampleArrayOfStore().ZarrJson());
  FakeMount mount(store_, GetParam() + "immutable");
  EXPECT_EQ(Shell("stat " + (mount / "v2/a/1.2").string()).code, 0);
  Waiters waiters(mount);
  mount.Order("block a/c");
  mount.Order("block b");
  waiters.Start(1, [&](int) { static_cast<void>(ReadFile(mount / "v2/a/1.2")); });
  waiters.Start(1, [&](int) { static_cast<void>(fs::exists(mount / "v2/b")); });
  for (const std::string line : {"read: a/c/0/1: no answer for 1 s", "lookup: b: no answer"}) {
    EXPECT_TRUE(
        Eventually(Seconds(20), [&] { return mount.Log().find(line) != std::string::npos; }))
        << line << ": " << mount.Log();
  }
  EXPECT_NE(ReadFile(mount / ".zarrfs/errors").find("a/c/0/1: no answer"), std::string::npos);
}

TEST_P(AnyStoreTest, StatusIsGivenWhileTheStoreDoesNotAnswer) {
  WriteLine(200);
  FakeMount mount(store_, GetParam() + "ttl=1");
  EXPECT_EQ(RunProgram({"ls", "-l", mount / "v2/line"}).code, 0);
  EXPECT_NE(ReadFile(mount / ".zarrfs/options").find("store: there"), std::string::npos);
  Waiters waiters(mount);
  mount.Order("block ");
  waiters.Start(200,
                [&](int i) { static_cast<void>(ReadFile(mount / "v2/line" / std::to_string(i))); });
  mount.Order("waiting 50");
  SleepFor(Seconds(1.5));  // by then, the kernel's entries for names in the root have expired
  for (const std::string name : {"options", "errors", "metrics", "status.json"}) {
    const Outcome outcome = RunProgram({"cat", mount / ".zarrfs" / name}, Seconds(10));
    EXPECT_EQ(outcome.code, 0) << name;
    if (name == "options") {
      EXPECT_NE(outcome.output.find("store: gone or cannot be read: no answer for"),
                std::string::npos)
          << outcome.output;
    }
  }
  EXPECT_EQ(RunProgram({"ls", mount / ".zarrfs"}, Seconds(10)).output,
            "errors\nmetrics\noptions\nstatus.json\n");
}

TEST_F(SlowStoreTest, NameThatHangsHoldsUpNoOtherOfItsFolder) {
  for (const std::string name : {"b0", "b1", "c"}) {
    Replace(store_ / name / "zarr.json", SampleArrayOfStore().ZarrJson());
  }
  FakeMount mount(store_, "");
  mount.Order("block b");
  Program first({"stat", mount / "v2/b0"}, folder_ / "out", folder_ / "err");
  mount.Order("waiting 1");
  EXPECT_EQ(RunProgram({"stat", mount / "v2/c"}, Seconds(3)).code, 0);
  // A second lookup that hangs can be interrupted before the first one ends.
  Program second({"stat", mount / "v2/b1"}, folder_ / "out", folder_ / "err");
  mount.Order("waiting 2");
  second.Signal(SIGINT);
  EXPECT_EQ(second.WaitFor(Seconds(1)), 128 + SIGINT);
}

TEST_P(AnyStoreTest, CachedAnswersComeWhileTwoHundredReadsWait) {
  WriteLine(200);
  FakeMount mount(store_, GetParam() + "immutable");
  EXPECT_EQ(ReadFile(mount / "v2/a/0.0"), chunks_.at("0.0"));
  EXPECT_EQ(RunProgram({"ls", "-l", mount / "v2/line"}).code, 0);
  EXPECT_TRUE(fs::exists(mount / "v3/a"));
  {
    Waiters waiters(mount);
    mount.Order("block line/c");
    waiters.Start(
        200, [&](int i) { static_cast<void>(ReadFile(mount / "v2/line" / std::to_string(i))); });
    mount.Order("waiting 50");
    ExpectCachedAnswers(mount);
  }
  EXPECT_EQ(ReadFile(mount / "v2/line/199"), Pattern(2, 199));
}

// A hundred reads hang, which are more than there are threads for them.
TEST_F(SlowStoreTest, ReadsThatHangHoldUpNoNames) {
  WriteLine(100);
  for (const std::string options : {"immutable", "local,immutable"}) {
    FakeMount mount(store_, options);
    EXPECT_EQ(RunProgram({"ls", "-l", mount / "v2/line"}).code, 0);
    Waiters waiters(mount);
    mount.Order("block line/c");
    waiters.Start(
        100, [&](int i) { static_cast<void>(ReadFile(mount / "v2/line" / std::to_string(i))); });
    mount.Order("waiting 50");
    SleepFor(Seconds(0.3));  // until all these threads wait
    const Outcome outcome = RunProgram({"stat", "-c", "%s", mount / "v2/a/1.1"}, Seconds(5));
    EXPECT_EQ(outcome.output, "513\n") << options << ": its array was never looked at";
    const Outcome list = RunProgram({"ls", mount / "v3/a/c/0"}, Seconds(5));
    EXPECT_EQ(list.output, "0\n1\n2\n") << options;
  }
}

TEST_F(SlowStoreTest, LocalDiskThatHangsCanBeInterrupted) {
  Replace(store_ / "b/zarr.json", SampleArrayOfStore().ZarrJson());
  FakeMount mount(store_, "local,immutable");
  EXPECT_EQ(Shell("stat " + (mount / "v2/a/1.2").string()).code, 0);
  mount.Order("block a/c");
  mount.Order("block b");
  const std::vector<std::string> read = {"cat", mount / "v2/a/1.2"};
  const std::vector<std::string> look_up = {"stat", mount / "v2/b"};
  for (const auto& words : {read, look_up}) {
    for (const double after : {0.0, 1.0}) {
      Program program(words, folder_ / "out", folder_ / "err");
      EXPECT_EQ(program.WaitFor(Seconds(0.1 + after)), std::nullopt) << words[0] << " waits";
      program.Signal(SIGINT);
      EXPECT_EQ(program.WaitFor(Seconds(5)), 128 + SIGINT) << words[0];
    }
  }
  mount.Order("release");
  EXPECT_EQ(ReadFile(mount / "v2/a/1.2"), chunks_.at("1.2")) << "and it serves on";
  EXPECT_EQ(Shell("stat " + (mount / "v2/b").string()).code, 0);
}

}  // namespace
}  // namespace zarrfs::slow_store_test
