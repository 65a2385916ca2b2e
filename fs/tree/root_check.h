// RootCheck: checks whether a store can be read, without waiting long for the answer.
//
// The folder .zarrfs reports on hung stores, so it must not wait for the store. One thread at a
// time makes the check. A caller waits half a second for the result. After that, the caller gets an
// error that says how long the store has not answered. Thread-safe.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>

#include "zarrcore/base/mutex.h"
#include "zarrcore/base/result.h"

namespace zarrfs {

class RootCheck {
 public:
  /// How long a caller waits for an answer.
  static constexpr std::chrono::milliseconds kTimeout{500};

  /// `ask` returns why the store cannot be read, or nullopt if it can. It may wait for the store,
  /// and is called on a thread of this class.
  explicit RootCheck(std::function<std::optional<Error>()> ask);
  /// Waits until a running check has ended.
  ~RootCheck();
  RootCheck(const RootCheck&) = delete;
  RootCheck& operator=(const RootCheck&) = delete;

  /// Returns why the store cannot be read now; nullopt if it can. kTimedOut if the store has not
  /// answered within kTimeout.
  [[nodiscard]] std::optional<Error> Problem();

 private:
  using Clock = std::chrono::steady_clock;

  // The state is shared with the checking thread. The thread is detached, because Problem() returns
  // before the thread ends if the store is slow. Only the destructor waits for it.
  struct State {
    std::function<std::optional<Error>()> ask;
    Mutex mutex;
    CondVar answered;
    std::optional<Clock::time_point> asking_since GUARDED_BY(mutex);
    std::optional<Error> answer GUARDED_BY(mutex);
  };

  const std::shared_ptr<State> state_;
};

}  // namespace zarrfs
