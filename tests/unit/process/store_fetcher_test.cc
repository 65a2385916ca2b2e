#include "fs/process/store_fetcher.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>

#include <chrono>
#include <string>
#include <vector>

namespace zarrfs::store_fetcher_test {
namespace {

// A fetcher that is to execute a program, of a store that no test asks for anything.
class StoreFetcherTest : public testing::Test {
 protected:
  StoreFetcherTest() {
    options_.source = Source("http://127.0.0.1:9/ocean.zarr");
    options_.mountpoint = "/mnt/ocean";
  }
  // Until the fetcher's first message to the worker.
  bool Serves() {
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (std::chrono::steady_clock::now() < limit) {
      fetcher_.Attend();
      pollfd wait = {fetcher_.channel().client.get(), POLLIN, 0};
      if (poll(&wait, 1, 10) == 1) {
        const auto answer = ReceiveAnswer(fetcher_.channel().client, /*waits=*/false);
        return answer && answer->id == 0;
      }
    }
    return false;
  }

  MountOptions options_;
  const std::vector<std::string> config_;
  Descriptor program_;
  StoreFetcher fetcher_{options_, config_, program_};
};

TEST_F(StoreFetcherTest, WithoutProgramItIsACopyOfThisProcess) {
  ASSERT_TRUE(fetcher_.Start());
  EXPECT_EQ(fetcher_.version(), FetchChannel::kVersion);
  EXPECT_TRUE(Serves());
}

TEST_F(StoreFetcherTest, ProgramThatEndsBeforeItBeginsIsReplacedByACopyAtOnce) {
  program_.reset(open("/bin/true", O_PATH | O_CLOEXEC));
  ASSERT_TRUE(fetcher_.Start());
  EXPECT_EQ(fetcher_.version(), std::nullopt);
  const pid_t first = fetcher_.pid();
  testing::internal::CaptureStdout();
  EXPECT_TRUE(Serves());
  const std::string log = testing::internal::GetCapturedStdout();
  EXPECT_NE(log.find("the program of the fetcher ended with exit code 0 before it began; the "
                     "fetcher is a copy of its keeper's process"),
            std::string::npos)
      << log;
  EXPECT_NE(fetcher_.pid(), first);
  EXPECT_EQ(fetcher_.version(), FetchChannel::kVersion);
}

TEST_F(StoreFetcherTest, ChildWhoseProgramCannotBeExecutedGoesOnAsACopy) {
  program_.reset(open("/", O_PATH | O_CLOEXEC));
  ASSERT_TRUE(fetcher_.Start());
  const pid_t first = fetcher_.pid();
  EXPECT_TRUE(Serves());
  fetcher_.Attend();
  EXPECT_EQ(fetcher_.pid(), first);
  EXPECT_EQ(fetcher_.version(), FetchChannel::kVersion);
}

TEST_F(StoreFetcherTest, OneThatWasEndedIsReplacedByTheProgramThatIsThereByThen) {
  ASSERT_TRUE(fetcher_.Start());
  EXPECT_TRUE(Serves());
  const pid_t first = fetcher_.pid();
  fetcher_.End();
  EXPECT_EQ(fetcher_.pid(), -1);
  program_.reset(open("/bin/true", O_PATH | O_CLOEXEC));
  EXPECT_TRUE(Serves());
  EXPECT_NE(fetcher_.pid(), first);
}

}  // namespace
}  // namespace zarrfs::store_fetcher_test
