// RootCheck: asks whether a store can be read, without waiting long for the answer.
//
// The folder .zarrfs reports on hung stores, so it must not wait for the store. One thread at a
// time asks; callers wait half a second for it, and afterwards are told how long it has not
// answered. Thread-safe.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>

#include "zarrcore/base/result.h"

namespace zarrfs {

class RootCheck {
 public:
  /// How long a caller waits for an answer.
  static constexpr std::chrono::milliseconds kPatience{500};

  /// `ask` returns why the store cannot be read, or nullopt. It may wait for the store, and is
  /// called on a thread of this class.
  explicit RootCheck(std::function<std::optional<Error>()> ask);
  /// Waits for the answer to a running question.
  ~RootCheck();
  RootCheck(const RootCheck&) = delete;
  RootCheck& operator=(const RootCheck&) = delete;

  /// Why the store cannot be read now. kTimedOut if it has not answered within kPatience.
  [[nodiscard]] std::optional<Error> Problem();

 private:
  using Clock = std::chrono::steady_clock;

  // The asking thread is detached, since a process ends without waiting for its store.
  struct State {
    std::function<std::optional<Error>()> ask;
    std::mutex mutex;  // guards the rest
    std::condition_variable answered;
    std::optional<Clock::time_point> asking_since;
    std::optional<Error> answer;
  };

  const std::shared_ptr<State> state_;
};

}  // namespace zarrfs
