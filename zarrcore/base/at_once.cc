#include "zarrcore/base/at_once.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <vector>

#include "zarrcore/base/waiting.h"

namespace zarrfs {

void AtOnce(size_t count, size_t threads, const std::function<void(size_t)>& work) {
  std::atomic<size_t> next = 0;
  std::mutex mutex;
  std::exception_ptr thrown;  // guarded by it
  const auto run = [&] {
    try {
      for (size_t at = next++; at < count; at = next++) work(at);
    } catch (...) {
      next = count;
      const std::lock_guard lock(mutex);
      thrown = std::current_exception();
    }
  };
  const std::function<bool()>* const is_given_up = internal::is_given_up;
  {
    std::vector<std::jthread> others;
    try {
      for (size_t i = 1; i < std::min(count, threads); ++i) {
        others.emplace_back([&run, is_given_up] {
          std::optional<GivenUpIf> scope;
          if (is_given_up != nullptr) scope.emplace(*is_given_up);
          run();
        });
      }
    } catch (const std::system_error&) {
      // No more threads can be started.
    }
    run();
  }
  if (thrown) std::rethrow_exception(thrown);
}

}  // namespace zarrfs
