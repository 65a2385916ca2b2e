// A progress line on stderr: drawn once a command takes longer than a second, then five times a
// second; nothing if stderr is not a terminal.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

namespace zarrfs::ctl {

class Progress {
 public:
  /// Whether a Progress would be visible, so that counting the work is worthwhile.
  [[nodiscard]] static bool IsSeen();
  /// Likewise for a command that prints continuously, which on a terminal is progress enough.
  [[nodiscard]] static bool IsSeenBesideOutput();

  /// `noun`: of the counted things, "object"; empty: bytes. `verb`: what is done with the bytes of
  /// AddBytes(). Starts the thread that draws.
  explicit Progress(std::string_view noun, bool is_seen = IsSeen(), std::string_view verb = "read");
  ~Progress();

  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // From any thread. First what there is to do is found, then Begin() (which adds what is known
  // then), then it is done; nothing found: it is not known how much there is.
  void AddFound(uint64_t count = 1) { found_.fetch_add(count, std::memory_order_relaxed); }
  void Begin(uint64_t found = 0);
  void AddDone(uint64_t count = 1) { done_.fetch_add(count, std::memory_order_relaxed); }
  void AddBytes(uint64_t bytes) { bytes_.fetch_add(bytes, std::memory_order_relaxed); }
  /// Removes the line until it is drawn next, so that another line can be printed.
  void Hide();
  /// Calls `print`, which prints lines, with the progress line removed and not drawn during the
  /// call.
  void Above(const std::function<void()>& print);
  /// Removes the line permanently, like the destructor.
  void End();

 private:
  void Erase();  // under mutex_, as Draw()
  void Draw();
  [[nodiscard]] std::string Line() const;
  [[nodiscard]] std::string Amount(uint64_t count) const;

  const std::string noun_;
  const std::string verb_;
  std::atomic<uint64_t> found_{0};
  std::atomic<uint64_t> done_{0};
  std::atomic<uint64_t> bytes_{0};
  std::mutex mutex_;  // guards the rest
  std::condition_variable wake_;
  bool begun_ = false;
  std::chrono::steady_clock::time_point start_;
  bool ended_ = false;
  bool drawn_ = false;
  std::thread thread_;
};

}  // namespace zarrfs::ctl
