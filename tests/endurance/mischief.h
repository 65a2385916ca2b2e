// Makes a mount suffer faults: of its store's disk, of its memory, and of the worker itself. Each
// round has every fault once, in random order.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "tests/endurance/faults.h"

namespace zarrfs {

/// Only for the main thread. Construct this before the mount, whose programs inherit the
/// environment.
class Mischief {
 public:
  explicit Mischief(const std::filesystem::path& folder);

  /// Makes the next fault happen to the mount's worker, usually for some tenths of a second.
  void Next(const std::filesystem::path& mountpoint, const std::filesystem::path& store);
  /// Ends all faults.
  void End();
  /// How often each fault was made, as text.
  [[nodiscard]] std::string Summary() const;
  /// True if any call of a worker had a fault.
  [[nodiscard]] bool HasFailedCalls() const { return faults_->made > 0; }
  /// The faults so far, one line each, with the time in seconds.
  [[nodiscard]] const std::string& Story() const { return story_; }

 private:
  enum Kind {
    kIoErrors,
    kShortReads,
    kStalls,
    kFullTables,
    kNoMemory,
    kStop,
    kOverflow,
    kEnd,
    kUpgrade,
    kKinds
  };
  using Clock = std::chrono::steady_clock;

  Kind Choose();
  void Do(Kind kind, pid_t worker, const std::filesystem::path& mountpoint,
          const std::filesystem::path& store);
  void Wait(double least, double most);
  void Clear();

  Faults* faults_ = nullptr;
  std::mt19937 random_{7};
  std::vector<Kind> left_;  // the faults that are left in this round
  std::array<uint64_t, kKinds> done_{};
  std::string story_;
  const Clock::time_point begin_ = Clock::now();
  uint64_t refused_ = 0;                       // the number of refused upgrades
  Clock::time_point next_end_ = Clock::now();  // when a worker may be ended again
};

}  // namespace zarrfs
