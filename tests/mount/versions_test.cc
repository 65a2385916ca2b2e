// A keeper with workers and fetchers of another program: a copy of zarrfs with a patched version,
// or this test program, whose behaviour depends on files next to the mount point (main.cc).

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "fs/process/upgrade.h"
#include "tests/mount/mounted.h"
#include "tests/mount/programs.h"
#include "tests/mount/sample_store.h"
#include "tests/unit/support/http_server.h"
#include "zarrcore/net/fetch_channel.h"

namespace zarrfs::versions_test {
namespace {

namespace fs = std::filesystem;

const std::string kProgram = ProgramUnderTest("zarrfs");
const std::string kVersion = ZARRFS_VERSION;
// Has the same length, so it can replace the version in the program's file.
const std::string kOtherVersion = "9" + kVersion.substr(1);

void WriteProgramOfOtherVersion(const fs::path& path) {
  std::string bytes = ReadFile(kProgram);
  for (size_t at = 0; (at = bytes.find(kVersion, at)) != bytes.npos; ++at) {
    bytes.replace(at, kVersion.size(), kOtherVersion);
  }
  std::ofstream(path, std::ios::binary) << bytes;
  fs::permissions(path, fs::perms::owner_all);
}

// The range [first, end) of the header Range in a request for a file of `size` bytes; the whole
// file without this header.
std::pair<size_t, size_t> RangeIn(const std::string& request, size_t size) {
  const std::string_view name = "Range: bytes=";
  const size_t at = request.find(name);
  if (at == request.npos) return {0, size};
  const char* text = request.data() + at + name.size();
  const char* const end = request.data() + request.size();
  size_t first = 0;
  size_t last = 0;
  if (*text == '-') {
    std::from_chars(text + 1, end, last);
    return {size - std::min(last, size), size};
  }
  text = std::from_chars(text, end, first).ptr;
  return {first,
          std::from_chars(text + 1, end, last).ec == std::errc() ? std::min(last + 1, size) : size};
}

// A handler for a web server without listings.
HttpServer::Handler Serve(const fs::path& folder) {
  return [folder](const std::string& request, const HttpServer::Send& send) {
    const size_t begin = request.find('/') + 1;
    const fs::path file = folder / request.substr(begin, request.find(' ', begin) - begin);
    if (!fs::is_regular_file(file)) {
      return send("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    }
    const std::string bytes = ReadFile(file);
    const auto [first, end] = RangeIn(request, bytes.size());
    const bool is_part = request.find("Range: ") != request.npos;
    send(
        fmt::format("HTTP/1.1 {}\r\nContent-Length: {}\r\nContent-Range: bytes {}-{}/{}\r\n"
                    "ETag: \"{}\"\r\nLast-Modified: Mon, 06 Jul 2026 10:00:00 GMT\r\n"
                    "Connection: close\r\n\r\n",
                    is_part ? "206 Partial Content" : "200 OK", end - first, first, end - 1,
                    bytes.size(), bytes.size()));
    if (!request.starts_with("HEAD")) send(std::string_view(bytes).substr(first, end - first));
  };
}

class VersionsTest : public testing::Test {
 protected:
  void Mount(const std::string& store) {
    const std::vector<std::string> words = {kProgram, store, mnt_, "-f", "-o", "cache=0"};
    program_ = std::make_unique<Program>(words, folder_ / "log", folder_ / "log");
    ASSERT_TRUE(Logged("is mounted at")) << ReadFile(folder_ / "log");
  }
  [[nodiscard]] bool Logged(const std::string& text) const {
    return Eventually(Seconds(10),
                      [&] { return ReadFile(folder_ / "log").find(text) != std::string::npos; });
  }
  void ExpectServes() const {
    for (const auto& [name, bytes] : chunks_) {
      EXPECT_TRUE(Eventually(Seconds(10), [&] { return ReadFile(mnt_ / "v2/a" / name) == bytes; }));
    }
  }
  [[nodiscard]] std::string Options() const { return ReadFile(mnt_ / ".zarrfs/options"); }
  static fs::path ProgramOf(pid_t pid) {
    return fs::read_symlink("/proc/" + std::to_string(pid) + "/exe");
  }
  // The number of processes of the mount that have the keeper's command line: the keeper, and
  // copies of its process.
  [[nodiscard]] size_t Copies() const {
    return static_cast<size_t>(std::ranges::count_if(DaemonsOf(mnt_), [](pid_t pid) {
      return ReadFile("/proc/" + std::to_string(pid) + "/cmdline").find("cache=0") !=
             std::string::npos;
    }));
  }
  // The fetcher of the mount; 0 if there is none.
  [[nodiscard]] pid_t Fetcher() const {
    for (const pid_t pid : DaemonsOf(mnt_)) {
      const std::string words = ReadFile("/proc/" + std::to_string(pid) + "/cmdline");
      if (words.find("--fetch") != std::string::npos) return pid;
    }
    return 0;
  }

  TemporaryFolder folder_;
  const fs::path store_ = folder_ / "sample.zarr";
  const std::map<std::string, std::string> chunks_ = WriteSampleStore(store_);
  const fs::path mnt_ = folder_.Folder("mnt");
  std::unique_ptr<Program> program_;
  const Unmounted whatever_happens_{mnt_};
};

TEST_F(VersionsTest, OldKeeperHasANewWorker) {
  const fs::path other = folder_.Folder("new") / "zarrfs";
  WriteProgramOfOtherVersion(other);
  Mount(store_);
  EXPECT_NE(Options().find("version: " + kVersion + "\nkeeper version: " + kVersion + "\n"),
            std::string::npos)
      << Options();
  const Outcome outcome = RunProgram({other, "--upgrade", mnt_, "-v"});
  ASSERT_EQ(outcome.code, 0) << outcome.errors;
  EXPECT_NE(outcome.output.find(" is now served by zarrfs " + kOtherVersion + " instead of " +
                                kVersion + "\n"),
            std::string::npos)
      << outcome.output;
  ExpectServes();
  const auto expect_new_worker = [&] {
    EXPECT_EQ(ProgramOf(KeeperOf(mnt_)), kProgram);
    EXPECT_EQ(ProgramOf(WorkerOf(mnt_)), other);
    EXPECT_TRUE(
        Options().starts_with("version: " + kOtherVersion + "\nkeeper version: " + kVersion + "\n"))
        << Options();
    EXPECT_NE(ReadFile(mnt_ / ".zarrfs/status.json").find("\"keeper_version\": \"" + kVersion),
              std::string::npos);
    // Other mounts in the list affect the widths of its columns.
    const std::string list = RunProgram({kProgram, "--list"}).output;
    const size_t line = list.find(" " + mnt_.string() + " " + store_.string() + " ");
    ASSERT_NE(line, std::string::npos) << list;
    EXPECT_TRUE(list.substr(0, list.find('\n', line))
                    .ends_with(" " + kOtherVersion + " (keeper " + kVersion + ")"))
        << list;
  };
  expect_new_worker();
  // The keeper controls this worker like any other one.
  program_->Signal(SIGUSR2);
  EXPECT_TRUE(Eventually(
      Seconds(5), [&] { return Options().find("\nlog_level: debug\n") != std::string::npos; }));
  // The keeper can start the program even after its file was renamed.
  fs::rename(other, folder_ / "new/was");
  const pid_t worker = WorkerOf(mnt_);
  kill(worker, SIGKILL);
  EXPECT_TRUE(Eventually(Seconds(10), [&] {
    const pid_t next = WorkerOf(mnt_);
    std::error_code error;
    return next != worker &&
           fs::read_symlink("/proc/" + std::to_string(next) + "/exe", error) == folder_ / "new/was";
  }));
  ExpectServes();
  fs::rename(folder_ / "new/was", other);
  expect_new_worker();
  EXPECT_EQ(RunProgram({kProgram, "--unmount", mnt_}).code, 0);
  EXPECT_EQ(program_->WaitFor(Seconds(5)), 0);
}

// The new program passes its trial, but its worker ends before it serves.
TEST_F(VersionsTest, KeeperGoesBackWhereTheNewProgramCannotServe) {
  Mount(store_);
  std::ofstream(mnt_.string() + ".ends");
  const auto asked = AskForUpgrade(KeeperOf(mnt_), "/proc/self/exe");
  ASSERT_FALSE(asked);
  EXPECT_EQ(asked.error().message,
            "the new program cannot serve: its worker ended with exit code 3");
  ExpectServes();
  EXPECT_EQ(ProgramOf(WorkerOf(mnt_)), kProgram);
  EXPECT_EQ(Copies(), 1U) << "the keeper alone";
  EXPECT_EQ(RunProgram({kProgram, "--upgrade", mnt_}).code, 0) << "of which nothing is left";
}

TEST_F(VersionsTest, WorkerAndFetcherAreReplacedTogether) {
  const HttpServer server(Serve(folder_.path()));
  Mount(server.url() + "/sample.zarr");
  const pid_t fetcher = Fetcher();
  ASSERT_TRUE(AskForUpgrade(KeeperOf(mnt_), "/proc/self/exe"));
  ExpectServes();
  EXPECT_NE(Fetcher(), fetcher);
  const fs::path own = fs::read_symlink("/proc/self/exe");
  EXPECT_EQ(ProgramOf(Fetcher()), own);
  // From here on, new fetchers have another version of the channel.
  std::ofstream(mnt_.string() + ".other");
  kill(Fetcher(), SIGKILL);
  ASSERT_TRUE(
      Logged(fmt::format("worker and fetcher have incompatible protocol versions, {} and 99; both "
                         "are replaced by the version of the running program",
                         FetchChannel::kVersion)))
      << ReadFile(folder_ / "log");
  EXPECT_TRUE(Eventually(Seconds(10), [&] { return Copies() == 3U; }));
  ExpectServes();
  EXPECT_EQ(ProgramOf(WorkerOf(mnt_)), kProgram);
}

}  // namespace
}  // namespace zarrfs::versions_test
