#include "fs/tree/root_check.h"

#include <exception>

namespace zarrfs {

RootCheck::~RootCheck() {
  if (thread_.joinable()) thread_.join();
}

std::optional<Error> RootCheck::Problem() {
  std::unique_lock lock(mutex_);
  if (!asking_since_) {
    if (thread_.joinable()) thread_.join();
    try {
      asking_since_ = Clock::now();
      thread_ = std::thread([this] {
        auto answer = ask_();
        const std::lock_guard answering(mutex_);
        answer_ = std::move(answer);
        asking_since_.reset();
        answered_.notify_all();
      });
    } catch (const std::exception& error) {
      asking_since_.reset();
      return Error{ErrorCode::kNoMemory, fmt::format("cannot ask: {}", error.what())};
    }
  }
  const auto since = *asking_since_;
  if (answered_.wait_until(lock, since + kPatience, [&] { return asking_since_ != since; })) {
    return answer_;
  }
  const auto silent = std::chrono::duration_cast<std::chrono::seconds>(Clock::now() - since);
  return Error{ErrorCode::kTimedOut, fmt::format("no answer for {} s", silent.count())};
}

}  // namespace zarrfs
