#include "zarrcore/base/at_once.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <optional>
#include <system_error>
#include <thread>
#include <vector>

#include "zarrcore/base/answer_age.h"
#include "zarrcore/base/mutex.h"
#include "zarrcore/base/waiting.h"

namespace zarrfs {

void AtOnce(size_t count, size_t threads, const std::function<void(size_t)>& work) {
  std::atomic<size_t> next = 0;
  Mutex mutex;
  std::exception_ptr thrown;  // an exception thrown by `work`, if any; guarded by `mutex`
  const auto run = [&] {
    try {
      for (size_t at = next++; at < count; at = next++) work(at);
    } catch (...) {
      next = count;
      const MutexLock lock(mutex);
      thrown = std::current_exception();
    }
  };
  const std::function<bool()>* const is_abandoned = internal::is_abandoned;
  const internal::AnswerAges accepted = internal::answer_ages;
  std::atomic<int64_t> oldest_ns = accepted.oldest_ns;
  {
    std::vector<std::jthread> others;
    try {
      for (size_t i = 1; i < std::min(count, threads); ++i) {
        others.emplace_back([&run, is_abandoned, &accepted, &oldest_ns] {
          std::optional<AbandonedIf> scope;
          if (is_abandoned != nullptr) scope.emplace(*is_abandoned);
          internal::answer_ages = accepted;
          run();
          const int64_t taken_ns = internal::answer_ages.oldest_ns;
          int64_t known_ns = oldest_ns;
          while (taken_ns < known_ns && !oldest_ns.compare_exchange_weak(known_ns, taken_ns)) {
          }
        });
      }
    } catch (const std::system_error&) {
      // No more threads can be started. The threads that run already make the remaining calls.
    }
    run();
  }
  NoteAnswer(oldest_ns);
  if (thrown) std::rethrow_exception(thrown);
}

}  // namespace zarrfs
