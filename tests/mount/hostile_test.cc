// Stores that are made to exhaust their readers.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <fstream>
#include <future>
#include <string>
#include <vector>

#include "tests/mount/hostile_stores.h"
#include "tests/mount/mounted.h"
#include "tests/mount/programs.h"
#include "tests/mount/sample_store.h"

namespace zarrfs::hostile_test {
namespace {

namespace fs = std::filesystem;

// The errno of opening a file and reading its beginning; 0 on success.
int ErrorOfReading(const fs::path& path) {
  const int file = open(path.c_str(), O_RDONLY);
  if (file < 0) return errno;
  std::vector<char> buffer(64 << 10);
  const ssize_t length = read(file, buffer.data(), buffer.size());
  const int error = length < 0 ? errno : 0;
  close(file);
  return error;
}

// The peak memory of a process, in MiB.
size_t PeakMegabytes(pid_t pid) {
  std::ifstream status("/proc/" + std::to_string(pid) + "/status");
  for (std::string word; status >> word;) {
    if (word != "VmHWM:") continue;
    size_t kilobytes = 0;
    status >> kilobytes;
    return kilobytes >> 10;
  }
  return 0;
}

class HostileTest : public testing::TestWithParam<HostileStore> {
 protected:
  TemporaryFolder folder_;
  const fs::path store_ = folder_ / "store";
};

TEST_P(HostileTest, TakesNoMoreThanItMay) {
  const HostileStore& hostile = GetParam();
  hostile.write(store_);
  const TestMount mount(store_, "memory=512M,immutable");
  const pid_t worker = WorkerOf(mount.path());
  const auto start = std::chrono::steady_clock::now();
  std::vector<std::future<int>> errors;
  for (const HostileFile& file : hostile.files) {
    errors.push_back(std::async(std::launch::async,
                                [path = mount / file.path] { return ErrorOfReading(path); }));
  }
  for (size_t i = 0; i < errors.size(); ++i) {
    EXPECT_EQ(errors[i].get(), hostile.files[i].error) << hostile.files[i].path << mount.Log();
  }
  const Outcome names = Shell("ls -l " + (mount / "v3").string(), hostile.time);
  EXPECT_EQ(names.code, 0) << names.errors;
  EXPECT_LT(Seconds(std::chrono::steady_clock::now() - start), hostile.time * SanitizerFactor());
  if (!HasSanitizer("address") && !HasSanitizer("thread")) {
    EXPECT_LT(PeakMegabytes(worker), hostile.megabytes);
  }
  EXPECT_EQ(WorkerOf(mount.path()), worker) << "the same process: " << mount.Log();
}

INSTANTIATE_TEST_SUITE_P(, HostileTest, testing::ValuesIn(HostileStores()),
                         [](const auto& store) { return store.param.name; });

class BudgetTest : public testing::Test {
 protected:
  TemporaryFolder folder_;
  const fs::path store_ = folder_ / "store";
};

TEST_F(BudgetTest, WhatCanNeverFitIsTooLargeAndTheLogNamesTheOption) {
  HostileStores().front().write(store_);
  const TestMount mount(store_, "memory=512M");
  EXPECT_EQ(fs::file_size(mount / "netcdf/huge/0"), uint64_t{1} << 30) << "the name is there";
  EXPECT_EQ(ErrorOfReading(mount / "netcdf/huge/0"), EFBIG);
  EXPECT_TRUE(Eventually(Seconds(5), [&] {
    return mount.Log().find("memory=536870912") != std::string::npos;
  })) << mount.Log();
}

TEST_F(BudgetTest, WorkerIsKilledBeforeItsKeeper) {
  (void)WriteSampleStore(store_);
  const TestMount mount(store_);
  const auto score = [](pid_t pid) {
    return std::stoi(ReadFile("/proc/" + std::to_string(pid) + "/oom_score_adj"));
  };
  EXPECT_GT(score(WorkerOf(mount.path())), score(KeeperOf(mount.path())));
}

}  // namespace
}  // namespace zarrfs::hostile_test
