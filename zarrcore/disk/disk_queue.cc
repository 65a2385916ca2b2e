#include "zarrcore/disk/disk_queue.h"

#include <deque>
#include <thread>
#include <utility>

#include "zarrcore/base/mutex.h"

namespace zarrfs {
namespace {

constexpr size_t kReaders = 4;
constexpr size_t kWriters = 2;
// Limits in bytes: queued writes, and answers that Take() has not returned yet.
constexpr size_t kMaxUnwritten = 32u << 20;
constexpr size_t kMaxUntaken = 32u << 20;

}  // namespace

struct DiskQueue::State {
  struct Unwritten {
    std::string object;
    Version version;
    uint64_t begin;
    std::vector<std::byte> bytes;
  };

  [[nodiscard]] Answer AnswerTo(const Request& request) const {
    Answer answer{.id = request.id};
    if (!request.version) {
      answer.version = cache->Find(request.object, request.range);
      return answer;
    }
    const uint64_t size = request.version->size;
    const ByteRange& range = request.range;
    answer.offset =
        range.from_end ? size - std::min(range.length, size) : std::min(range.offset, size);
    const uint64_t length = std::min(range.length, size - answer.offset);
    if (length == 0 || length > DiskEntry::kMaxBytes) return answer;
    answer.bytes.resize(static_cast<size_t>(length));
    if (cache->Read(request.object, *request.version, answer.offset, answer.bytes)) {
      answer.version = request.version;
    }
    return answer;
  }

  void ReadAll() {
    MutexLock lock(mutex);
    for (;;) {
      changed.wait(lock, [&]() REQUIRES(mutex) {
        return is_over || (!requests.empty() && untaken < kMaxUntaken);
      });
      if (is_over) return;
      const Request request = std::move(requests.front());
      requests.pop_front();
      lock.unlock();
      Answer answer = AnswerTo(request);
      lock.lock();
      if (is_over) return;
      untaken += answer.bytes.size();
      answers.push_back(std::move(answer));
      on_answer();
    }
  }

  void WriteAll() {
    MutexLock lock(mutex);
    for (;;) {
      changed.wait(lock, [&]() REQUIRES(mutex) { return is_over || !unwritten.empty(); });
      if (is_over) return;
      const Unwritten next = std::move(unwritten.front());
      unwritten.pop_front();
      lock.unlock();
      cache->Write(next.object, next.version, next.begin, next.bytes);
      lock.lock();
      unwritten_bytes -= next.bytes.size();
    }
  }

  std::unique_ptr<DiskCache> cache;
  std::function<void()> on_answer GUARDED_BY(mutex);  // not called once the DiskQueue is destroyed
  Mutex mutex;
  CondVar changed;
  std::deque<Request> requests GUARDED_BY(mutex);
  std::vector<Answer> answers GUARDED_BY(mutex);
  std::deque<Unwritten> unwritten GUARDED_BY(mutex);
  size_t untaken GUARDED_BY(mutex) = 0;  // the number of bytes in `answers`
  // The number of bytes in `unwritten`, plus those that a thread is writing now.
  size_t unwritten_bytes GUARDED_BY(mutex) = 0;
  bool is_over GUARDED_BY(mutex) = false;
};

DiskQueue::DiskQueue(std::unique_ptr<DiskCache> cache, std::function<void()> on_answer)
    : state_(std::make_shared<State>()) {
  state_->cache = std::move(cache);
  state_->on_answer = std::move(on_answer);
  for (size_t i = 0; i < kReaders + kWriters; ++i) {
    std::thread([state = state_, reads = i < kReaders] {
      reads ? state->ReadAll() : state->WriteAll();
    }).detach();
  }
}

DiskQueue::~DiskQueue() {
  const MutexLock lock(state_->mutex);
  state_->is_over = true;
  state_->changed.notify_all();
}

void DiskQueue::Ask(Request request) {
  const MutexLock lock(state_->mutex);
  state_->requests.push_back(std::move(request));
  state_->changed.notify_all();
}

std::vector<DiskQueue::Answer> DiskQueue::Take() {
  const MutexLock lock(state_->mutex);
  state_->untaken = 0;
  state_->changed.notify_all();
  return std::exchange(state_->answers, {});
}

void DiskQueue::Keep(std::string object, Version version, uint64_t begin,
                     std::vector<std::byte> bytes) {
  const MutexLock lock(state_->mutex);
  if (bytes.empty() || state_->unwritten_bytes + bytes.size() > kMaxUnwritten) return;
  state_->unwritten_bytes += bytes.size();
  state_->unwritten.push_back({std::move(object), std::move(version), begin, std::move(bytes)});
  state_->changed.notify_all();
}

}  // namespace zarrfs
