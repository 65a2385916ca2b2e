// Mutex, SharedMutex, their locks and CondVar: standard mutexes and condition variables with
// annotations. Clang (-Wthread-safety) refuses code that uses a member without its mutex:
//
//   Mutex mutex_;
//   size_t count_ GUARDED_BY(mutex_) = 0;        // used only while mutex_ is held
//   void AddLocked() REQUIRES(mutex_);           // called only while mutex_ is held
//   const MutexLock lock(mutex_);                // holds it to the end of the block
//   changed_.wait(lock, [this]() REQUIRES(mutex_) { return count_ > 0; });
//
// Constructors, destructors and local variables are not checked. GCC ignores the annotations.
#pragma once

#include <condition_variable>
#include <mutex>
#include <shared_mutex>

#if defined(__clang__)
#define ZARRFS_THREAD_ATTRIBUTE(x) __attribute__((x))
#else
#define ZARRFS_THREAD_ATTRIBUTE(x)
#endif
#define GUARDED_BY(x) ZARRFS_THREAD_ATTRIBUTE(guarded_by(x))
#define REQUIRES(x) ZARRFS_THREAD_ATTRIBUTE(exclusive_locks_required(x))
#define ACQUIRE(...) ZARRFS_THREAD_ATTRIBUTE(acquire_capability(__VA_ARGS__))
#define ACQUIRE_SHARED(...) ZARRFS_THREAD_ATTRIBUTE(acquire_shared_capability(__VA_ARGS__))
#define RELEASE(...) ZARRFS_THREAD_ATTRIBUTE(release_capability(__VA_ARGS__))
/// Marks functions that clang cannot analyze. A comment at each of them says why it is safe.
#define NO_THREAD_SAFETY_ANALYSIS ZARRFS_THREAD_ATTRIBUTE(no_thread_safety_analysis)

namespace zarrfs {

class ZARRFS_THREAD_ATTRIBUTE(capability("mutex")) Mutex {
 public:
  void lock() ACQUIRE() { mutex_.lock(); }
  void unlock() RELEASE() { mutex_.unlock(); }

 private:
  friend class MutexLock;
  std::mutex mutex_;
};

/// Holds a mutex during its lifetime, except between unlock() and lock().
class ZARRFS_THREAD_ATTRIBUTE(scoped_lockable) MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) ACQUIRE(mutex) : lock_(mutex.mutex_) {}
  ~MutexLock() RELEASE() = default;
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;
  void lock() ACQUIRE() { lock_.lock(); }
  void unlock() RELEASE() { lock_.unlock(); }

 private:
  friend class CondVar;
  std::unique_lock<std::mutex> lock_;
};

/// A mutex that either one writer or any number of readers can hold.
class ZARRFS_THREAD_ATTRIBUTE(capability("mutex")) SharedMutex {
 private:
  friend class WriterLock;
  friend class ReaderLock;
  std::shared_mutex mutex_;
};

class ZARRFS_THREAD_ATTRIBUTE(scoped_lockable) WriterLock {
 public:
  explicit WriterLock(SharedMutex& mutex) ACQUIRE(mutex) : lock_(mutex.mutex_) {}
  ~WriterLock() RELEASE() = default;
  WriterLock(const WriterLock&) = delete;
  WriterLock& operator=(const WriterLock&) = delete;

 private:
  const std::unique_lock<std::shared_mutex> lock_;
};

class ZARRFS_THREAD_ATTRIBUTE(scoped_lockable) ReaderLock {
 public:
  explicit ReaderLock(SharedMutex& mutex) ACQUIRE_SHARED(mutex) : lock_(mutex.mutex_) {}
  ~ReaderLock() RELEASE() = default;
  ReaderLock(const ReaderLock&) = delete;
  ReaderLock& operator=(const ReaderLock&) = delete;

 private:
  const std::shared_lock<std::shared_mutex> lock_;
};

/// Like std::condition_variable, for a MutexLock. The `arguments` of the wait functions are a time
/// limit, a predicate, both or none. The predicate is called with the mutex held.
class CondVar {
 public:
  template <typename... Arguments>
  void wait(MutexLock& lock, const Arguments&... arguments) {
    changed_.wait(lock.lock_, arguments...);
  }
  template <typename... Arguments>
  auto wait_for(MutexLock& lock, const Arguments&... arguments) {
    return changed_.wait_for(lock.lock_, arguments...);
  }
  template <typename... Arguments>
  auto wait_until(MutexLock& lock, const Arguments&... arguments) {
    return changed_.wait_until(lock.lock_, arguments...);
  }
  void notify_one() noexcept { changed_.notify_one(); }
  void notify_all() noexcept { changed_.notify_all(); }

 private:
  std::condition_variable changed_;
};

}  // namespace zarrfs
