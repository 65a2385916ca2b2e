// The configuration file, signals that change a mount, and notifications of the service manager.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "tests/mount/fake_mount.h"
#include "tests/mount/mounted.h"
#include "tests/mount/programs.h"
#include "tests/mount/sample_store.h"

namespace zarrfs::config_test {
namespace {

namespace fs = std::filesystem;

class ConfigTest : public testing::Test {
 protected:
  ConfigTest() { (void)WriteSampleStore(store_); }

  void Write(const std::string& text) { Replace(config_, text); }
  std::vector<std::string> Line(std::vector<std::string> more = {}) const {
    std::vector<std::string> words = {ProgramUnderTest("zarrfs"), "--config", config_, mnt_, "-f"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  std::string Log() const { return ReadFile(log_); }
  bool Logs(const std::string& text) const {
    return Eventually(Seconds(5), [&] { return Log().find(text) != std::string::npos; });
  }
  // True if .zarrfs/options soon has this line.
  bool Says(const std::string& line) const {
    return Eventually(Seconds(5), [&] {
      return ReadFile(mnt_ / ".zarrfs/options").find("\n" + line + "\n") != std::string::npos;
    });
  }

  TemporaryFolder folder_;
  const fs::path store_ = folder_ / "sample.zarr";
  const fs::path config_ = folder_ / "ocean.conf";
  const fs::path log_ = folder_ / "log";
  const fs::path mnt_ = folder_.Folder("mnt");
  const Unmounted whatever_happens_{mnt_};
};

TEST_F(ConfigTest, GivesSourceAndOptionsAndTheCommandLineWins) {
  Write("# of the lab\nsource = " + store_.string() + "\nview = v2\nttl = 7\n");
  Program program(Line({"-o", "ttl=8"}), log_, log_);
  ASSERT_TRUE(Logs("is mounted at")) << Log();
  EXPECT_TRUE(Says("view: v2"));
  EXPECT_TRUE(Says("changes: checked for every 8 s (ttl)"));
  EXPECT_TRUE(Says("pid: " + std::to_string(program.pid())));
  program.Signal(SIGTERM);
  EXPECT_EQ(program.WaitFor(Seconds(5)), 0) << Log();
}

TEST_F(ConfigTest, WrongLineIsNamedWithWhatWasExpected) {
  const std::string source = "source = " + store_.string() + "\n";
  const std::vector<std::pair<std::string, std::string>> texts = {
      {source + "\ncache = lots\n", ":3: option 'cache=lots': expected a size"},
      {source + "veiw = v2\n", ":2: unknown option 'veiw=v2'"},
      {source + "two words\n", ":2: 'two words': expected 'name = value'"},
      {source + "ttl = 1\nttl = 2\n", ":3: 'ttl = 2': expected each name only once"},
      {"source = sample.zarr\n", ":1: option 'source=sample.zarr': expected a path that begins"},
      {"view = v2\n", ": expected 'source = PATH'"},
  };
  for (const auto& [text, words] : texts) {
    Write(text);
    const Outcome outcome = RunProgram(Line());
    EXPECT_EQ(outcome.code, 1) << outcome.errors;
    EXPECT_TRUE(outcome.errors.starts_with("zarrfs: " + config_.string() + words))
        << outcome.errors;
  }
  fs::remove(config_);
  const Outcome outcome = RunProgram(Line());
  EXPECT_EQ(outcome.code, 1);
  EXPECT_NE(outcome.errors.find("ocean.conf does not exist"), std::string::npos) << outcome.errors;
}

TEST_F(ConfigTest, HangupReadsItAgain) {
  const std::string source = "source = " + store_.string() + "\n";
  Write(source + "cache = 1M\n");
  Program program(Line({"-o", "index_cache=2M"}), log_, log_);
  ASSERT_TRUE(Logs("is mounted at")) << Log();
  Write(source + "cache = 3M\nindex_cache = 4M\nmemory = 100M\nlog_level = warning\nview = v2\n");
  program.Signal(SIGHUP);
  EXPECT_TRUE(Says("log_level: warning"));
  EXPECT_TRUE(Says("cache: 0 of 3145728 bytes"));
  EXPECT_NE(ReadFile(mnt_ / ".zarrfs/options").find(" of 104857600 bytes"), std::string::npos);
  EXPECT_NE(ReadFile(mnt_ / ".zarrfs/options").find(" of 2097152 bytes"), std::string::npos)
      << "the command line wins";
  EXPECT_TRUE(Logs("view changed, which takes effect only after a new mount")) << Log();
  EXPECT_TRUE(Says("view: all"));
  Write(source + "cache = lots\n");
  program.Signal(SIGHUP);
  EXPECT_TRUE(Logs("ocean.conf:2: option 'cache=lots'")) << Log();
  EXPECT_TRUE(Says("cache: 0 of 3145728 bytes"));
  program.Signal(SIGTERM);
  EXPECT_EQ(program.WaitFor(Seconds(5)), 0) << Log();
}

TEST_F(ConfigTest, AnOptionNamesItTooAndARemountReadsItAgain) {
  Write("cache = 1M\nview = v2\n");
  const std::string named = "config=" + config_.string();
  Program program({ProgramUnderTest("zarrfs"), store_, mnt_, "-f", "-o", named + ",index_cache=2M"},
                  log_, log_);
  ASSERT_TRUE(Logs("is mounted at")) << Log();
  EXPECT_TRUE(Says("view: v2"));
  EXPECT_TRUE(Says("config: " + config_.string()));
  EXPECT_TRUE(Says("options: cache=1M,view=v2," + named + ",index_cache=2M"));
  const std::vector<std::string> remount = {ProgramUnderTest("zarrfs"), store_, mnt_, "-o",
                                            "remount," + named};
  Write("cache = 3M\nlog_level = warning\nview = v2\n");
  EXPECT_EQ(RunProgram(remount).code, 0);
  EXPECT_TRUE(Says("cache: 0 of 3145728 bytes"));
  EXPECT_TRUE(Says("log_level: warning"));
  Write("cache = 4M\n view = v3\n");
  const Outcome refused = RunProgram(remount);
  EXPECT_EQ(refused.code, 32);
  EXPECT_NE(refused.errors.find("unmounted and mounted again to change view=v3"),
            std::string::npos);
  // Options after -o override the file.
  Write("cache = 4M\nview = v2\n");
  EXPECT_EQ(RunProgram({ProgramUnderTest("zarrfs"), store_, mnt_, "-o",
                        "remount," + named + ",cache=3M,log_level=error"})
                .code,
            0);
  EXPECT_TRUE(Says("cache: 0 of 3145728 bytes"));
  EXPECT_TRUE(Says("log_level: error"));
  Write("config = other.conf\n");
  const Outcome wrong = RunProgram(remount);
  EXPECT_EQ(wrong.code, 1);
  EXPECT_NE(wrong.errors.find(":1: unknown option 'config=other.conf'"), std::string::npos);
  EXPECT_TRUE(Says("cache: 0 of 3145728 bytes")) << "a refused remount changes nothing";
  program.Signal(SIGTERM);
  EXPECT_EQ(program.WaitFor(Seconds(5)), 0) << Log();
}

TEST_F(ConfigTest, UserSignalChangesTheLogLevel) {
  Write("source = " + store_.string() + "\n");
  Program program(Line(), log_, log_);
  ASSERT_TRUE(Logs("is mounted at")) << Log();
  program.Signal(SIGUSR2);
  EXPECT_TRUE(Says("log_level: debug"));
  program.Signal(SIGUSR2);
  EXPECT_TRUE(Says("log_level: info"));
  const std::array<const char*, 4> levels = {"error", "warning", "info", "debug"};
  for (size_t i = 0; i < levels.size(); ++i) {
    sigval value = {};
    value.sival_int = static_cast<int>(i) + 1;
    ASSERT_EQ(sigqueue(program.pid(), SIGUSR2, value), 0);
    EXPECT_TRUE(Says(std::string("log_level: ") + levels[i]));
  }
  program.Signal(SIGTERM);
  EXPECT_EQ(program.WaitFor(Seconds(5)), 0) << Log();
}

// Has a socket like that of systemd for its services.
class ServiceManagerTest : public ConfigTest {
 protected:
  void SetUp() override {
    socket_ = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path_.c_str(), sizeof address.sun_path - 1);
    ASSERT_EQ(bind(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    Write("source = " + store_.string() + "\n");
  }
  void TearDown() override { close(socket_); }
  // The notifications since the last call. Waits until they contain `text`.
  std::string Told(const std::string& text) {
    std::string told;
    static_cast<void>(Eventually(Seconds(5), [&] {
      std::array<char, 4096> part;
      const ssize_t have = recv(socket_, part.data(), part.size(), 0);
      if (have > 0) told += std::string(part.data(), static_cast<size_t>(have)) + "\n";
      return told.find(text) != std::string::npos;
    }));
    return told;
  }
  std::vector<std::string> LineWithSocket() const {
    std::vector<std::string> words = Line();
    words.insert(words.begin(), {"env", "NOTIFY_SOCKET=" + path_.string()});
    return words;
  }
  const fs::path path_ = folder_ / "notify";
  int socket_ = -1;
};

TEST_F(ServiceManagerTest, HearsOfStartReloadAndEnd) {
  Program program(LineWithSocket(), log_, log_);
  const std::string ready = Told("READY=1");
  EXPECT_NE(
      ready.find("READY=1\nSTATUS=serving " + store_.string() + " on " + mnt_.string() + "\n"),
      std::string::npos)
      << ready;
  EXPECT_TRUE(IsMounted(mnt_)) << "ready means mounted";
  program.Signal(SIGHUP);
  const std::string reloading = Told("READY=1");
  EXPECT_NE(reloading.find("RELOADING=1\nMONOTONIC_USEC="), std::string::npos) << reloading;
  EXPECT_NE(reloading.find("READY=1"), std::string::npos) << reloading;
  program.Signal(SIGTERM);
  EXPECT_NE(Told("STOPPING=1").find("STOPPING=1"), std::string::npos);
  EXPECT_EQ(program.WaitFor(Seconds(5)), 0) << Log();
}

TEST_F(ServiceManagerTest, HearsThatTheWorkerWasKilledAndThatAnotherOneServes) {
  Program program(LineWithSocket(), log_, log_);
  EXPECT_NE(Told("READY=1").find("READY=1"), std::string::npos);
  kill(WorkerOf(mnt_), SIGKILL);
  const std::string told = Told("STATUS=serving");
  EXPECT_NE(told.find("was ended by signal 9; another one takes over"), std::string::npos) << told;
  EXPECT_NE(told.find("STATUS=serving"), std::string::npos) << told;
  SleepFor(Seconds(2.1));
  program.Signal(SIGTERM);
  EXPECT_EQ(program.WaitFor(Seconds(5)), 0) << Log();
}

TEST_F(ServiceManagerTest, HasTheSameProcessAfterAnUpgrade) {
  Program program(LineWithSocket(), log_, log_);
  EXPECT_NE(Told("READY=1").find("READY=1"), std::string::npos);
  const pid_t worker = WorkerOf(mnt_);
  const Outcome outcome = RunProgram({ProgramUnderTest("zarrfs"), "--upgrade", mnt_});
  EXPECT_EQ(outcome.code, 0) << outcome.errors;
  const std::string told = Told("STATUS=serving");
  EXPECT_NE(told.find("STATUS=serving"), std::string::npos) << told;
  EXPECT_EQ(told.find("STOPPING=1"), std::string::npos) << told;
  EXPECT_EQ(KeeperOf(mnt_), program.pid());
  EXPECT_NE(WorkerOf(mnt_), worker);
  program.Signal(SIGTERM);
  EXPECT_NE(Told("STOPPING=1").find("STOPPING=1"), std::string::npos);
  EXPECT_EQ(program.WaitFor(Seconds(5)), 0) << Log();
}

TEST_F(ServiceManagerTest, DetachesABusyMountByItself) {
  Program program(LineWithSocket(), log_, log_);
  EXPECT_NE(Told("READY=1").find("READY=1"), std::string::npos);
  const int held = open((mnt_ / "v2/a").c_str(), O_PATH | O_DIRECTORY);
  program.Signal(SIGTERM);
  EXPECT_TRUE(Logs("busy")) << Log();
  EXPECT_NE(ReadFile(mnt_ / ".zarrfs/options"), "") << "it serves on, for some seconds";
  EXPECT_EQ(program.WaitFor(Seconds(10)), 0) << Log();
  EXPECT_NE(Log().find("mnt is detached"), std::string::npos) << Log();
  EXPECT_FALSE(IsMounted(mnt_));
  close(held);
}

TEST_F(ServiceManagerTest, UnmountsAMountThatIsBusyForAMoment) {
  Program program(LineWithSocket(), log_, log_);
  EXPECT_NE(Told("READY=1").find("READY=1"), std::string::npos);
  const int held = open((mnt_ / "v2/a").c_str(), O_PATH | O_DIRECTORY);
  program.Signal(SIGTERM);
  EXPECT_TRUE(Logs("busy")) << Log();
  close(held);
  EXPECT_EQ(program.WaitFor(Seconds(10)), 0) << Log();
  EXPECT_NE(Log().find("is unmounted"), std::string::npos) << Log();
  EXPECT_EQ(Log().find("mnt is detached"), std::string::npos) << Log();
}

// The server of the store hangs after it took a request of the worker, so the worker cannot even be
// killed.
TEST_F(ServiceManagerTest, EndsThoughTheStoreHangs) {
  FakeMount below(store_, "");
  Write("source = " + (below / "v3").string() + "\n");
  Program program(LineWithSocket(), log_, log_);
  EXPECT_NE(Told("READY=1").find("READY=1"), std::string::npos);
  EXPECT_NE(ReadFile(mnt_ / "v2/a/0.1"), "");
  const pid_t worker = WorkerOf(mnt_);
  below.Order("block a/c/1");
  Program reader({"cat", mnt_ / "v2/a/2.1"}, folder_ / "output", folder_ / "errors");
  below.Order("waiting 1");
  below.program().Signal(SIGSTOP);
  EXPECT_EQ(reader.WaitFor(Seconds(0.2)), std::nullopt) << "it waits for the store";
  program.Signal(SIGTERM);
  EXPECT_EQ(program.WaitFor(Seconds(20)), 0) << Log();
  EXPECT_FALSE(IsMounted(mnt_));
  EXPECT_NE(reader.WaitFor(Seconds(5)).value_or(0), 0) << "it gets an error, at last";
  below.program().Signal(SIGCONT);
  below.Order("release");
  EXPECT_TRUE(Eventually(Seconds(5), [&] { return kill(worker, 0) != 0; }));
}

TEST_F(ServiceManagerTest, HearsWhyAStartFailed) {
  Write("source = " + (folder_.Folder("empty")).string() + "\n");
  Program program(LineWithSocket(), log_, log_);
  EXPECT_EQ(program.WaitFor(Seconds(5)), 32);
  const std::string told = Told("STATUS=");
  EXPECT_NE(told.find("not a Zarr store"), std::string::npos) << told;
  EXPECT_EQ(told.find("READY=1"), std::string::npos) << told;
}

}  // namespace
}  // namespace zarrfs::config_test
