#include "tests/mount/programs.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>
#include <system_error>
#include <thread>

namespace zarrfs {
namespace {

pid_t Start(const std::vector<std::string>& words, int input, int output, int errors) {
  std::vector<char*> argv;
  argv.reserve(words.size() + 1);
  for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid != 0) return pid;
  // Only functions that may be called between fork and exec.
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(126);
  signal(SIGINT, SIG_DFL);  // a shell ignores it for programs in the background
  dup2(input, STDIN_FILENO);
  dup2(output, STDOUT_FILENO);
  dup2(errors, STDERR_FILENO);
  execvp(argv[0], argv.data());
  _exit(127);
}

int OpenNull() { return open("/dev/null", O_RDWR | O_CLOEXEC); }

const std::filesystem::path& FolderUnderTest() {
  static const std::filesystem::path folder = [] {
    // Symbolizing a crash forks. The kernel may then have to copy a page to deliver a request. It
    // cannot do so once the process ends, and the request fails.
    setenv("ASAN_OPTIONS", "symbolize=0", /*overwrite=*/0);
    const char* given = std::getenv("ZARRFS_PROGRAMS");
    return given != nullptr ? std::filesystem::absolute(given)
                            : std::filesystem::read_symlink("/proc/self/exe").parent_path();
  }();
  return folder;
}

}  // namespace

std::string ProgramUnderTest(const std::string& name) { return FolderUnderTest() / name; }

bool HasSanitizer(const std::string& name) {
  // CMake writes this file to the folder of the programs.
  static const std::string sanitizers = ReadFile(FolderUnderTest() / "sanitizers");
  return sanitizers.find(name) != std::string::npos;
}

double SanitizerFactor() {
  static const double factor = HasSanitizer("thread") ? 8 : HasSanitizer("address") ? 4 : 1;
  return factor;
}

void SleepFor(Seconds time) { std::this_thread::sleep_for(time); }

Program::Program(const std::vector<std::string>& words, const std::filesystem::path& output,
                 const std::filesystem::path& errors, int input) {
  const int null = OpenNull();
  const int out = open(output.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  const int err =
      errors == output ? out : open(errors.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  pid_ = Start(words, input < 0 ? null : input, out, err);
  close(null);
  close(out);
  if (err != out) close(err);
}

Program::~Program() {
  if (pid_ < 0) return;
  if (!code_) {
    kill(-pid_, SIGKILL);
    static_cast<void>(WaitFor(Seconds(10)));
  }
}

void Program::Signal(int signal_number) const {
  if (pid_ > 0 && !code_) kill(pid_, signal_number);
}

std::optional<int> Program::WaitFor(Seconds limit) {
  if (pid_ < 0) return 127;
  static_cast<void>(Eventually(limit, [&] {
    int status = 0;
    if (!code_ && waitpid(pid_, &status, WNOHANG) == pid_) {
      code_ = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    }
    return code_.has_value();
  }));
  return code_;
}

Outcome RunProgram(const std::vector<std::string>& words, Seconds limit) {
  Outcome outcome;
  std::array<int, 2> out = {-1, -1};
  std::array<int, 2> err = {-1, -1};
  if (pipe2(out.data(), O_CLOEXEC) != 0 || pipe2(err.data(), O_CLOEXEC) != 0) return outcome;
  const int null = OpenNull();
  const pid_t pid = Start(words, null, out[1], err[1]);
  close(null);
  close(out[1]);
  close(err[1]);
  std::array<pollfd, 2> wait = {pollfd{out[0], POLLIN, 0}, pollfd{err[0], POLLIN, 0}};
  std::array<std::string*, 2> texts = {&outcome.output, &outcome.errors};
  const auto end = std::chrono::steady_clock::now() + limit * SanitizerFactor();
  bool in_time = true;
  while (in_time && (wait[0].fd >= 0 || wait[1].fd >= 0)) {
    poll(wait.data(), wait.size(), 50);
    for (size_t i = 0; i < wait.size(); ++i) {
      if (wait[i].fd < 0 || wait[i].revents == 0) continue;
      std::array<char, 65536> part;
      const ssize_t have = read(wait[i].fd, part.data(), part.size());
      if (have > 0) {
        texts[i]->append(part.data(), static_cast<size_t>(have));
      } else if (have == 0 || errno != EINTR) {
        wait[i].fd = -1;
      }
    }
    in_time = std::chrono::steady_clock::now() < end;
  }
  close(out[0]);
  close(err[0]);
  int status = 0;
  pid_t ended = 0;
  while (in_time && (ended = waitpid(pid, &status, WNOHANG)) == 0) {
    SleepFor(Seconds(0.001));
    in_time = std::chrono::steady_clock::now() < end;
  }
  if (ended != pid) {
    kill(-pid, SIGKILL);
    waitpid(pid, &status, 0);
    outcome.errors += "(killed: it took too long)";
    return outcome;
  }
  outcome.code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  return outcome;
}

Outcome Shell(const std::string& line, Seconds limit) {
  return RunProgram({"/bin/sh", "-c", line}, limit);
}

TemporaryFolder::TemporaryFolder() {
  std::string name = std::filesystem::temp_directory_path() / "zarrfs-test-XXXXXX";
  if (mkdtemp(name.data()) == nullptr) {
    throw std::system_error(errno, std::generic_category(), name);
  }
  path_ = name;
  std::filesystem::permissions(path_, std::filesystem::perms(0755));
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::filesystem::path TemporaryFolder::Folder(const std::string& name) const {
  std::filesystem::create_directories(path_ / name);
  return path_ / name;
}

std::string ReadFile(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream bytes;
  bytes << file.rdbuf();  // an iterator would throw if a read failed
  return file.bad() ? "" : std::move(bytes).str();
}

std::vector<pid_t> DaemonsOf(const std::filesystem::path& mountpoint) {
  std::vector<pid_t> found;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string name = entry.path().filename();
    pid_t pid = 0;
    if (std::from_chars(name.data(), name.data() + name.size(), pid).ec != std::errc()) continue;
    const std::string words = ReadFile(entry.path() / "cmdline");
    const std::string word = std::string(1, '\0') + mountpoint.string() + '\0';
    const std::string program = words.substr(0, words.find('\0'));
    if (std::filesystem::path(program).filename() == "zarrfs" &&
        words.find(word) != std::string::npos) {
      found.push_back(pid);
    }
  }
  return found;
}

namespace {

// The process of the mount whose parent is another process of the mount or, without
// `below_another`, is not.
pid_t FindProcessOf(const std::filesystem::path& mountpoint, bool below_another) {
  const std::vector<pid_t> all = DaemonsOf(mountpoint);
  for (const pid_t pid : all) {
    // "pid (name) state parent …"
    const std::string stat = ReadFile("/proc/" + std::to_string(pid) + "/stat");
    const size_t name_end = stat.rfind(')');
    if (name_end == std::string::npos) continue;
    std::istringstream rest(stat.substr(name_end + 1));
    std::string state;
    pid_t parent = 0;
    rest >> state >> parent;
    if ((std::ranges::find(all, parent) != all.end()) == below_another) return pid;
  }
  return 0;
}

// Like FindProcessOf(), but waits, because a process has no command line for a moment during exec.
pid_t ProcessOf(const std::filesystem::path& mountpoint, bool below_another) {
  pid_t found = 0;
  if (Eventually(Seconds(2), [&] {
        found = FindProcessOf(mountpoint, below_another);
        return found != 0;
      })) {
    return found;
  }
  // Throws instead of returning -1, because kill(-1) sends the signal to all processes.
  throw std::runtime_error("no process of the mount at " + mountpoint.string());
}

}  // namespace

pid_t KeeperOf(const std::filesystem::path& mountpoint) { return ProcessOf(mountpoint, false); }

pid_t WorkerOf(const std::filesystem::path& mountpoint) { return ProcessOf(mountpoint, true); }

}  // namespace zarrfs
