// Each worker executes its own program. If that cannot run, the worker is a copy of its keeper.

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/mount/mounted.h"
#include "tests/mount/programs.h"
#include "tests/mount/sample_store.h"

namespace zarrfs::worker_start_test {
namespace {

namespace fs = std::filesystem;

const std::string kProgram = ProgramUnderTest("zarrfs");

// The addresses where the program and the stack of a process begin.
std::pair<std::string, std::string> LayoutOf(pid_t pid) {
  const std::string maps = ReadFile("/proc/" + std::to_string(pid) + "/maps");
  const size_t stack = maps.find("[stack]");
  const size_t line = stack == std::string::npos ? maps.npos : maps.rfind('\n', stack);
  if (line == maps.npos) return {};
  return {maps.substr(0, maps.find('-')), maps.substr(line + 1, maps.find('-', line) - line - 1)};
}

class WorkerStartTest : public testing::Test {
 protected:
  // Kills the worker, and waits until another one answers.
  void ReplaceWorker() {
    const pid_t worker = WorkerOf(mnt_);
    kill(worker, SIGKILL);
    EXPECT_TRUE(Eventually(Seconds(10), [&] {
      const auto all = DaemonsOf(mnt_);
      return all.size() == 2 && std::ranges::find(all, worker) == all.end();
    }));
    ExpectServes();
  }
  void ExpectServes() const {
    for (const auto& [name, bytes] : chunks_) EXPECT_EQ(ReadFile(mnt_ / "v2/a" / name), bytes);
  }
  [[nodiscard]] std::string Log() const { return ReadFile(folder_ / "log"); }
  // Mounts the store with `program`, the first words of a command line.
  void Mount(const std::vector<std::string>& program) {
    std::vector<std::string> words = program;
    words.insert(words.end(), {store_, mnt_, "-f"});
    program_ = std::make_unique<Program>(words, folder_ / "log", folder_ / "log");
    ASSERT_TRUE(Eventually(Seconds(10), [&] {
      return Log().find("is mounted at") != std::string::npos;
    })) << Log();
  }

  TemporaryFolder folder_;
  const fs::path store_ = folder_ / "sample.zarr";
  const std::map<std::string, std::string> chunks_ = WriteSampleStore(store_);
  const fs::path mnt_ = folder_.Folder("mnt");
  std::unique_ptr<Program> program_;
  const Unmounted whatever_happens_{mnt_};
};

TEST_F(WorkerStartTest, EachWorkerHasAnAddressLayoutOfItsOwn) {
  if (ReadFile("/proc/sys/kernel/randomize_va_space") == "0\n") GTEST_SKIP() << "the kernel's way";
  // Sanitizers choose their own layout.
  if (HasSanitizer("thread") || HasSanitizer("address")) return;
  TestMount mount(store_, "", mnt_);
  std::set<std::string> programs;
  std::set<std::string> stacks;
  const auto add = [&](pid_t pid) {
    // A worker that has answered executes its own program. The kernel has the chunks.
    EXPECT_NE(ReadFile(mnt_ / ".zarrfs/status.json"), "");
    const auto [program, stack] = LayoutOf(pid);
    EXPECT_NE(stack, "");
    programs.insert(program);
    stacks.insert(stack);
  };
  add(KeeperOf(mnt_));
  add(WorkerOf(mnt_));
  for (int i = 0; i < 2; ++i) {
    ReplaceWorker();
    add(WorkerOf(mnt_));
  }
  EXPECT_EQ(programs.size(), 4U) << "keeper, and three workers";
  EXPECT_EQ(stacks.size(), 4U);
  EXPECT_EQ(mount.Log().find("a copy of its keeper"), std::string::npos) << mount.Log();
}

TEST_F(WorkerStartTest, ProgramThatMayNotBeExecutedAnyMoreIsForked) {
  const fs::path programs = folder_.Folder("programs");
  const Unmounted programs_too(programs);
  ASSERT_EQ(::mount("zarrfs-test", programs.c_str(), "tmpfs", 0, ""), 0) << std::strerror(errno);
  fs::copy_file(kProgram, programs / "zarrfs");
  Mount({programs / "zarrfs"});
  ASSERT_EQ(::mount("", programs.c_str(), "", MS_REMOUNT | MS_BIND | MS_NOEXEC, nullptr), 0)
      << std::strerror(errno);
  ReplaceWorker();
  EXPECT_NE(Log().find("the program of the worker cannot be run: Permission denied"),
            std::string::npos)
      << Log();
  EXPECT_EQ(LayoutOf(WorkerOf(mnt_)).second, LayoutOf(KeeperOf(mnt_)).second);
  ASSERT_EQ(::mount("", programs.c_str(), "", MS_REMOUNT | MS_BIND, nullptr), 0);
  ReplaceWorker();
  // Sanitizers choose their own layout.
  if (HasSanitizer("thread") || HasSanitizer("address")) return;
  EXPECT_NE(LayoutOf(WorkerOf(mnt_)).second, LayoutOf(KeeperOf(mnt_)).second) << "as it can again";
}

// An upgrade of the distribution removes a library while the mount lives.
TEST_F(WorkerStartTest, ProgramWhoseLibrariesAreGoneIsForked) {
  const std::string library =
      Shell("ldd " + kProgram + " | awk '$1 == \"libzstd.so.1\" {printf \"%s\", $3}'").output;
  if (library.empty()) GTEST_SKIP() << "a static program";
  const fs::path libraries = folder_.Folder("libraries");
  fs::copy_file(library, libraries / "libzstd.so.1");
  setenv("LD_LIBRARY_PATH", libraries.c_str(), 1);
  Mount({kProgram});
  unsetenv("LD_LIBRARY_PATH");
  fs::remove(libraries / "libzstd.so.1");
  std::ofstream(libraries / "libzstd.so.1") << "no library";
  ReplaceWorker();
  EXPECT_NE(Log().find("the program of the worker ended with exit code 127 before it began"),
            std::string::npos)
      << Log();
  EXPECT_EQ(LayoutOf(WorkerOf(mnt_)).second, LayoutOf(KeeperOf(mnt_)).second);
}

// A library is on a file server that does not answer.
class HangingProgramTest : public WorkerStartTest {
 protected:
  // Mounts, and makes the loader of the next worker hang. False for a static program.
  bool MountAndHang() {
    const std::string library =
        Shell("ldd " + kProgram + " | awk '$1 == \"libzstd.so.1\" {printf \"%s\", $3}'").output;
    if (library.empty()) return false;
    const fs::path copy = folder_.Folder("libraries") / "libzstd.so.1";
    fs::copy_file(library, copy);
    setenv("LD_LIBRARY_PATH", copy.parent_path().c_str(), 1);
    Mount({kProgram});
    unsetenv("LD_LIBRARY_PATH");
    fs::remove(copy);
    EXPECT_EQ(mkfifo(copy.c_str(), 0600), 0);  // opening it blocks
    kill(WorkerOf(mnt_), SIGKILL);
    return true;
  }
};

TEST_F(HangingProgramTest, IsKilledAndForked) {
  if (!MountAndHang()) GTEST_SKIP() << "a static program";
  ASSERT_TRUE(Eventually(Seconds(60), [&] {
    return Log().find("another worker serves") != std::string::npos;
  })) << Log();
  ExpectServes();
  EXPECT_NE(Log().find("the program of the worker has not reported within 10 s: it is killed"),
            std::string::npos)
      << Log();
  EXPECT_NE(Log().find("ended by signal 9 before it began; the worker is a copy of its keeper"),
            std::string::npos)
      << Log();
  EXPECT_EQ(LayoutOf(WorkerOf(mnt_)).second, LayoutOf(KeeperOf(mnt_)).second);
}

TEST_F(HangingProgramTest, EndsWithItsKeeper) {
  if (!MountAndHang()) GTEST_SKIP() << "a static program";
  const auto hanging = [&] {
    return Shell("pgrep -f -- '--serve [0-9]+ " + store_.string() + "'").output;
  };
  ASSERT_TRUE(Eventually(Seconds(8), [&] {
    return Log().find("another one takes over") != std::string::npos && !hanging().empty();
  })) << Log();
  program_->Signal(SIGKILL);
  EXPECT_TRUE(Eventually(Seconds(8), [&] { return hanging().empty(); }));
}

// To the kernel, the program of such a process is the loader.
TEST_F(WorkerStartTest, FirstWorkerIsForkedWhereTheProgramWasStartedByTheLoader) {
  const std::string loader =
      Shell("ldd " + kProgram + " | awk '$1 ~ /ld-linux/ {printf \"%s\", $1}'").output;
  if (loader.empty()) GTEST_SKIP() << "a static program";
  Mount({loader, kProgram});
  ExpectServes();
  EXPECT_NE(Log().find("before it began; the worker is a copy of its keeper"), std::string::npos)
      << Log();
}

// Arguments that only a keeper may give do nothing for others.
TEST_F(WorkerStartTest, NobodyElseStartsAWorker) {
  const Outcome outcome = RunProgram({kProgram, "--serve", "0", store_, mnt_});
  EXPECT_EQ(outcome.code, 2) << outcome.errors;
  EXPECT_NE(outcome.errors.find("start message: not a memory file"), std::string::npos)
      << outcome.errors;
}

}  // namespace
}  // namespace zarrfs::worker_start_test
