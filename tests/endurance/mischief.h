// What may befall a mount: faults of its store's disk and of its memory, and of the worker itself.
// One after the other in random order, until all were, and then again.
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

/// For the main thread. To be made before the mount, whose programs inherit what it sets up.
class Mischief {
 public:
  explicit Mischief(const std::filesystem::path& folder);

  /// Does something to the mount's worker, for some tenths of a second.
  void Next(const std::filesystem::path& mountpoint, const std::filesystem::path& store);
  /// From now on all is well.
  void End();
  /// How often each was done.
  [[nodiscard]] std::string Summary() const;
  /// Whether calls of workers failed at all.
  [[nodiscard]] bool HasFailedCalls() const { return faults_->made > 0; }
  /// What was done when, in seconds: a line each.
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
  std::vector<Kind> left_;  // of this round
  std::array<uint64_t, kKinds> done_{};
  std::string story_;
  const Clock::time_point begin_ = Clock::now();
  uint64_t refused_ = 0;                       // upgrades
  Clock::time_point next_end_ = Clock::now();  // of a worker
};

}  // namespace zarrfs
