#include "fs/options/log.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <spdlog/spdlog.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace zarrfs::log_test {
namespace {

/// What is written to stderr while it lives, with or without the journal's word that it is there.
class CapturedStderr {
 public:
  explicit CapturedStderr(bool is_journal)
      : real_(dup(STDERR_FILENO)), file_(memfd_create("captured", MFD_CLOEXEC)) {
    std::fflush(stderr);
    dup2(file_, STDERR_FILENO);
    struct stat status {};
    fstat(file_, &status);
    // A service whose stderr was redirected elsewhere keeps the variable.
    const auto inode = is_journal ? status.st_ino : status.st_ino + 1;
    setenv("JOURNAL_STREAM", fmt::format("{}:{}", status.st_dev, inode).c_str(), 1);
  }
  ~CapturedStderr() {
    unsetenv("JOURNAL_STREAM");
    std::fflush(stderr);
    dup2(real_, STDERR_FILENO);
    close(real_);
    close(file_);
  }
  CapturedStderr(const CapturedStderr&) = delete;
  CapturedStderr& operator=(const CapturedStderr&) = delete;

  [[nodiscard]] std::string Text() const {
    spdlog::default_logger()->flush();
    std::fflush(stderr);
    std::array<char, 4096> text{};
    const ssize_t length = pread(file_, text.data(), text.size(), 0);
    return {text.data(), static_cast<size_t>(length)};
  }

 private:
  const int real_;
  const int file_;
};

TEST(LogTest, JournalGetsThePriorityOfEachLine) {
  const CapturedStderr captured(/*is_journal=*/true);
  LogToStderr("debug");
  spdlog::error("worst");
  spdlog::warn("bad");
  spdlog::info("news");
  spdlog::debug("detail");
  PrintError("end");
  EXPECT_EQ(captured.Text(), "<3>worst\n<4>bad\n<6>news\n<7>detail\n<3>end\n");
}

TEST(LogTest, ALineOnATerminalBeginsWithTheProgramsName) {
  const CapturedStderr captured(/*is_journal=*/false);
  LogToStderr("info");
  spdlog::warn("bad");
  spdlog::debug("detail");
  PrintError("end");
  EXPECT_EQ(captured.Text(), "zarrfs: bad\nzarrfs: end\n");
}

TEST(LogTest, NamesOfTheStoreCannotBeginALine) {
  const CapturedStderr captured(/*is_journal=*/true);
  LogToStderr("info");
  spdlog::warn("{}: not shown", "a\n<0>the disk burns");
  EXPECT_EQ(captured.Text(), "<4>a; <0>the disk burns: not shown\n");
}

TEST(LogTest, LevelChangesWhileTheProgramRuns) {
  const CapturedStderr captured(/*is_journal=*/false);
  LogToStderr("error");
  spdlog::info("one");
  spdlog::set_level(spdlog::level::info);
  spdlog::info("two");
  spdlog::set_level(spdlog::level::debug);
  spdlog::debug("three");
  spdlog::set_level(spdlog::level::warn);
  spdlog::info("four");
  spdlog::warn("five");
  const std::string text = captured.Text();
  EXPECT_TRUE(text.starts_with("zarrfs: two\n")) << text;
  EXPECT_NE(text.find("] zarrfs: debug: three\n"), std::string::npos) << text;
  EXPECT_TRUE(text.ends_with("three\nzarrfs: five\n")) << text;
}

}  // namespace
}  // namespace zarrfs::log_test
