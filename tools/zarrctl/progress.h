// A line on stderr that tells how far `verify` is, drawn five times a second; nothing if stderr is
// no terminal.
#ifndef TOOLS_ZARRCTL_PROGRESS_H_
#define TOOLS_ZARRCTL_PROGRESS_H_

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>

namespace zarrfs::ctl {

class Progress {
 public:
  /// Whether a Progress would be seen: then it is worth to count what there is to do.
  [[nodiscard]] static bool IsSeen();

  /// `objects`: how many there are to do. Starts the thread that draws.
  explicit Progress(uint64_t objects);
  /// Removes the line.
  ~Progress();

  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // From any thread.
  void AddObject() { objects_.fetch_add(1, std::memory_order_relaxed); }
  void AddBytes(uint64_t bytes) { bytes_.fetch_add(bytes, std::memory_order_relaxed); }
  /// Removes the line until it is drawn next, so that another line can be printed.
  void Hide();

 private:
  void Draw();  // under mutex_

  const uint64_t total_;
  const std::chrono::steady_clock::time_point start_;
  std::atomic<uint64_t> objects_{0};
  std::atomic<uint64_t> bytes_{0};
  std::mutex mutex_;
  std::condition_variable wake_;
  bool done_ = false;
  bool drawn_ = false;
  std::thread thread_;
};

}  // namespace zarrfs::ctl

#endif  // TOOLS_ZARRCTL_PROGRESS_H_
