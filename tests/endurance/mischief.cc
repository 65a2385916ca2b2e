#include "tests/endurance/mischief.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <numeric>
#include <stdexcept>

#include "tests/mount/programs.h"

namespace zarrfs {
namespace {

namespace fs = std::filesystem;

constexpr std::array kNames = {"EIO",     "short reads",    "stalls", "EMFILE",   "ENOMEM",
                               "SIGSTOP", "watch overflow", "ends",   "--upgrade"};
// The signals that end a worker, in turn.
constexpr std::array kEnds = {SIGKILL, SIGSEGV, SIGABRT};

// The minimum time between ends of a worker. After more than five within a minute, the mount only
// returns errors.
constexpr std::chrono::seconds kBetweenEnds{15};
// The number of renames. Each makes two inotify events, together more than the kernel's queue holds
// by default.
constexpr int kRenames = 9'000;

void Overflow(const fs::path& folder) {
  const fs::path one = folder / "one";
  const fs::path two = folder / "two";
  fs::create_directory(one);
  for (int i = 0; i < kRenames; ++i) fs::rename(i % 2 == 0 ? one : two, i % 2 == 0 ? two : one);
  fs::remove(one);
}

}  // namespace

Mischief::Mischief(const fs::path& folder) {
  const fs::path library = folder / "faulty_calls.so";
  fs::create_symlink(
      fs::absolute(fs::path(ProgramUnderTest("zarrfs")).parent_path()) / "libfaulty_calls.so",
      library);
  const fs::path page = library.string() + kFaultsSuffix;
  std::ofstream(page) << std::string(sizeof(Faults), '\0');
  const int fd = open(page.c_str(), O_RDWR | O_CLOEXEC);
  void* const mapped = mmap(nullptr, sizeof(Faults), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (mapped == MAP_FAILED) throw std::runtime_error("no page for faults");
  close(fd);
  faults_ = static_cast<Faults*>(mapped);
  setenv("LD_PRELOAD", library.c_str(), 1);
}

void Mischief::Clear() {
  faults_->io_errors = faults_->short_reads = faults_->stalls = faults_->full_tables =
      faults_->no_memory = 0;
}

void Mischief::End() { Clear(); }

void Mischief::Wait(double least, double most) {
  SleepFor(Seconds(std::uniform_real_distribution(least, most)(random_)));
}

Mischief::Kind Mischief::Choose() {
  if (left_.empty()) {
    left_.resize(kKinds);
    std::iota(reinterpret_cast<int*>(left_.data()), reinterpret_cast<int*>(left_.data()) + kKinds,
              0);
    std::ranges::shuffle(left_, random_);
  }
  const Kind kind = left_.back();
  left_.pop_back();
  return kind;
}

void Mischief::Do(Kind kind, pid_t worker, const fs::path& mountpoint, const fs::path& store) {
  constexpr uint32_t kOften = 300;
  switch (kind) {
    case kIoErrors:
      faults_->io_errors = kOften;
      return Wait(0.1, 0.5);
    case kShortReads:
      faults_->short_reads = kOften;
      return Wait(0.1, 0.5);
    case kStalls:
      faults_->stalls = kOften;
      return Wait(0.1, 1);
    case kFullTables:
      faults_->full_tables = kOften;
      return Wait(0.1, 0.5);
    case kNoMemory:
      faults_->no_memory = kOften;
      return Wait(0.1, 0.5);
    case kStop:
      kill(worker, SIGSTOP);
      Wait(0.1, 1);
      kill(worker, SIGCONT);
      return;
    case kOverflow:
      kill(worker, SIGSTOP);
      Overflow(store / "a1");
      kill(worker, SIGCONT);
      return;
    case kEnd:
      kill(worker, kEnds[done_[kEnd] % kEnds.size()]);
      return;
    case kUpgrade:
      refused_ +=
          RunProgram({ProgramUnderTest("zarrfs"), "--upgrade", mountpoint}, Seconds(30)).code != 0;
      return;
    default:
      return;
  }
}

void Mischief::Next(const fs::path& mountpoint, const fs::path& store) {
  const Kind kind = Choose();
  if (kind == kEnd && Clock::now() < next_end_) {
    return SleepFor(Seconds(0.1));  // left to a later round
  }
  if (kind == kEnd) next_end_ = Clock::now() + kBetweenEnds;
  try {
    const pid_t worker = WorkerOf(mountpoint);
    faults_->process = worker;
    story_ += fmt::format("{:.1f} s: {}\n", Seconds(Clock::now() - begin_).count(), kNames[kind]);
    Do(kind, worker, mountpoint, store);
    ++done_[kind];
  } catch (const std::exception&) {
    // No worker runs at this moment.
  }
  Clear();
  Wait(0, 0.5);
}

std::string Mischief::Summary() const {
  std::string text;
  for (size_t kind = 0; kind < kKinds; ++kind) {
    text += fmt::format("{}{} {}", kind == 0 ? "" : ", ", done_[kind], kNames[kind]);
  }
  return text +
         fmt::format(" (SIGKILL, SIGSEGV, SIGABRT in turn); {} upgrades refused, {} faulty calls",
                     refused_, faults_->made.load());
}

}  // namespace zarrfs
