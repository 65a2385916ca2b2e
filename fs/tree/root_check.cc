#include "fs/tree/root_check.h"

#include <exception>
#include <thread>
#include <utility>

namespace zarrfs {

RootCheck::RootCheck(std::function<std::optional<Error>()> ask)
    : state_(std::make_shared<State>()) {
  state_->ask = std::move(ask);
}

RootCheck::~RootCheck() {
  MutexLock lock(state_->mutex);
  state_->answered.wait(lock, [&]() REQUIRES(state_->mutex) { return !state_->asking_since; });
}

std::optional<Error> RootCheck::Problem() {
  State& state = *state_;
  MutexLock lock(state.mutex);
  if (!state.asking_since) {
    state.asking_since = Clock::now();
    try {
      std::thread([kept = state_] {
        auto answer = kept->ask();
        const MutexLock answering(kept->mutex);
        kept->answer = std::move(answer);
        kept->asking_since.reset();
        kept->answered.notify_all();
      }).detach();
    } catch (const std::exception& error) {
      state.asking_since.reset();
      return Error{ErrorCode::kNoMemory,
                   fmt::format("cannot start a thread to check the store: {}", error.what())};
    }
  }
  const auto since = *state.asking_since;
  if (state.answered.wait_until(lock, since + kTimeout, [&]() REQUIRES(state.mutex) {
        return state.asking_since != since;
      })) {
    return state.answer;
  }
  const auto silent = std::chrono::duration_cast<std::chrono::seconds>(Clock::now() - since);
  return Error{ErrorCode::kTimedOut, fmt::format("no answer for {} s", silent.count())};
}

}  // namespace zarrfs
