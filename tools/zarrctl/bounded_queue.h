// BoundedQueue<T>: a queue between threads that holds a limited number of elements.
#ifndef TOOLS_ZARRCTL_BOUNDED_QUEUE_H_
#define TOOLS_ZARRCTL_BOUNDED_QUEUE_H_

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <optional>
#include <utility>

namespace zarrfs::ctl {

/// Any number of producers and consumers.
template <typename T>
class BoundedQueue {
 public:
  explicit BoundedQueue(size_t limit) : limit_(limit) {}

  /// Waits for room.
  void Push(T element) {
    std::unique_lock lock(mutex_);
    has_room_.wait(lock, [this] { return elements_.size() < limit_; });
    elements_.push_back(std::move(element));
    has_elements_.notify_one();
  }

  /// After the last Push().
  void Close() {
    const std::lock_guard lock(mutex_);
    is_closed_ = true;
    has_elements_.notify_all();
  }

  /// Waits for an element; nullopt once the queue is closed and empty.
  std::optional<T> Pop() {
    std::unique_lock lock(mutex_);
    has_elements_.wait(lock, [this] { return is_closed_ || !elements_.empty(); });
    if (elements_.empty()) return std::nullopt;
    T element = std::move(elements_.front());
    elements_.pop_front();
    has_room_.notify_one();
    return element;
  }

 private:
  const size_t limit_;
  std::mutex mutex_;
  std::condition_variable has_room_;
  std::condition_variable has_elements_;
  std::deque<T> elements_;
  bool is_closed_ = false;
};

}  // namespace zarrfs::ctl

#endif  // TOOLS_ZARRCTL_BOUNDED_QUEUE_H_
