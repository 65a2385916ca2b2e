// Progress: a progress line on stderr. It is drawn once a command takes longer than a second, then
// five times a second, and only if stderr is a terminal.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <thread>

#include "zarrcore/base/mutex.h"

namespace zarrfs::ctl {

class Progress {
 public:
  /// True if a progress line would be visible, so it is worthwhile to count the work in advance.
  [[nodiscard]] static bool IsSeen();
  /// True if a progress line would be visible for a command that prints continuously. If the output
  /// of such a command goes to a terminal, the output already shows the progress.
  [[nodiscard]] static bool IsSeenBesideOutput();

  /// `noun`: what is counted, such as "object"; "" for bytes. `verb`: what is done with the bytes
  /// of AddBytes(), such as "read". Starts the thread that draws the line.
  explicit Progress(std::string_view noun, bool is_seen = IsSeen(), std::string_view verb = "read");
  ~Progress();

  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // These functions may be called from any thread. AddFound() counts work as it is discovered.
  // Begin() ends this phase and adds `found` to the total. After that, AddDone() and AddBytes()
  // count completed work. A total of 0 means that the total is unknown.
  void AddFound(uint64_t count = 1) { found_.fetch_add(count, std::memory_order_relaxed); }
  void Begin(uint64_t found = 0);
  void AddDone(uint64_t count = 1) { done_.fetch_add(count, std::memory_order_relaxed); }
  void AddBytes(uint64_t bytes) { bytes_.fetch_add(bytes, std::memory_order_relaxed); }
  /// Removes the progress line until it is drawn next, so another line can be printed.
  void Hide();
  /// Calls `print`, which prints lines. The progress line is removed before the call and not drawn
  /// during it.
  void Above(const std::function<void()>& print);
  /// Removes the progress line permanently, like the destructor.
  void End();

 private:
  void Erase() REQUIRES(mutex_);
  void Draw() REQUIRES(mutex_);
  [[nodiscard]] std::string Line() const REQUIRES(mutex_);
  [[nodiscard]] std::string Amount(uint64_t count) const;

  const std::string noun_;
  const std::string verb_;
  std::atomic<uint64_t> found_{0};
  std::atomic<uint64_t> done_{0};
  std::atomic<uint64_t> bytes_{0};
  Mutex mutex_;
  CondVar wake_;
  bool begun_ GUARDED_BY(mutex_) = false;
  std::chrono::steady_clock::time_point start_ GUARDED_BY(mutex_);
  bool ended_ GUARDED_BY(mutex_) = false;
  bool drawn_ GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace zarrfs::ctl
