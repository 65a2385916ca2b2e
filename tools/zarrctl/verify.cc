// One thread walks the hierarchy and the folders of stored objects and fills a short queue; the
// others take one object each, follow every entry of its indexes and decode every chunk. Memory is
// what the queue, the index cache and one chunk a thread need, however large the store.
#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tools/zarrctl/chunk_check.h"
#include "tools/zarrctl/commands.h"
#include "tools/zarrctl/describe.h"
#include "tools/zarrctl/interrupt.h"
#include "tools/zarrctl/object_walk.h"
#include "tools/zarrctl/output.h"
#include "tools/zarrctl/progress.h"
#include "tools/zarrctl/target.h"
#include "tools/zarrctl/verify_report.h"
#include "zarrcore/array/chunk_cursor.h"

namespace zarrfs::ctl {
namespace {

constexpr int kAttempts = 3;  // at an object that changes while it is read
constexpr size_t kQueuedPerThread = 8;
constexpr size_t kMaxReasons = 1000;  // of one object, before they are printed

struct Task {
  std::shared_ptr<const ChunkCheck> check;  // of the array
  OuterIndex outer{};
};

// Bounded, of many producers and consumers.
class TaskQueue {
 public:
  explicit TaskQueue(size_t limit) : limit_(limit) {}

  void Push(Task task) {
    std::unique_lock lock(mutex_);
    room_.wait(lock, [this] { return tasks_.size() < limit_; });
    tasks_.push_back(std::move(task));
    filled_.notify_one();
  }
  void Close() {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    filled_.notify_all();
  }
  /// nullopt once the queue is closed and empty.
  std::optional<Task> Pop() {
    std::unique_lock lock(mutex_);
    filled_.wait(lock, [this] { return closed_ || !tasks_.empty(); });
    if (tasks_.empty()) return std::nullopt;
    Task task = std::move(tasks_.front());
    tasks_.pop_front();
    room_.notify_one();
    return task;
  }

 private:
  const size_t limit_;
  std::mutex mutex_;
  std::condition_variable room_;
  std::condition_variable filled_;
  std::deque<Task> tasks_;
  bool closed_ = false;
};

class Verification {
 public:
  Verification(const TargetNode& target, const VerifyOptions& options)
      : target_(target), report_(options.json) {
    const unsigned cores = std::max(1u, std::thread::hardware_concurrency());
    jobs_ = options.jobs != 0 ? options.jobs : cores;
  }

  int Run() {
    const StopOnInterrupt on_interrupt;
    {
      Progress progress("object");
      if (Progress::IsSeen()) {
        Walk(target_.node, [&](const NodePtr& node) {
          WalkObjects(store(), *node,
                      {[&](OuterIndex) {
                         progress.AddFound();
                         return !StopRequested();
                       },
                       [](const std::string&, const Error&) { return !StopRequested(); }});
        });
      }
      progress.Begin();
      progress_ = &progress;
      report_.SetProgress(&progress);
      counting_ = true;
      CheckAll();
      report_.SetProgress(nullptr);
    }
    report_.Summarise(target_.FileOf(target_.node->path),
                      {arrays_, objects_.load(), chunks_.load(), bytes_.load()}, StopRequested());
    return StopRequested() ? kExitCtrlC : report_.ExitCode();
  }

 private:
  [[nodiscard]] const Store& store() const { return target_.hierarchy->store(); }

  void CheckAll() {
    TaskQueue queue(jobs_ * kQueuedPerThread);
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < jobs_; ++i) {
      threads.emplace_back([&] {
        while (auto task = queue.Pop()) {
          // The queue is emptied also after a stop: nobody may wait for room in it.
          if (StopRequested()) continue;
          CheckObject(*task->check, task->outer);
          progress_->AddDone();
        }
      });
    }
    Walk(target_.node, [&](const NodePtr& node) {
      ++arrays_;
      const auto check = std::make_shared<const ChunkCheck>(node);
      if (const auto& reason = check->why_not()) {
        report_.AddUnchecked(node->path, "only ranges were checked", *reason);
      }
      WalkObjects(store(), *node,
                  {[&](OuterIndex outer) {
                     if (StopRequested()) return false;
                     queue.Push({check, outer});
                     return true;
                   },
                   [&](const std::string& key, const Error& error) {
                     report_.AddProblem(key, error);
                     return !StopRequested();
                   }});
    });
    queue.Close();
    for (std::thread& thread : threads) thread.join();
  }

  // Calls `visit` with each array whose chunks can be found. Whatever else is met counts only in
  // the walk that checks (counting_).
  void Walk(const NodePtr& node, const std::function<void(const NodePtr&)>& visit) {
    if (StopRequested()) return;
    if (const Error* error = Unusable(*node)) {
      if (!counting_) return;
      const std::string key = JoinKey(node->path, node->document);
      if (IsDamage(*error)) {
        report_.AddProblem(key, *error);
      } else {
        report_.AddUnchecked(node->path, "not checked", WithoutKey(error->message, key));
      }
      return;
    }
    if (const ArrayMetadata* array = node->array(); counting_ && array != nullptr &&
                                                    array->grid_only &&
                                                    array->grid_only->code == ErrorCode::kDamaged) {
      report_.AddProblem(JoinKey(node->path, node->document), *array->grid_only);
    }
    if (node->array() != nullptr) {
      if (node->chunks != nullptr) visit(node);
      return;
    }
    const auto children = target_.hierarchy->Children(*node, kAnyAge);
    if (!children) {
      if (counting_) report_.AddProblem(node->path, children.error());
      return;
    }
    for (const std::string& name : children->value) {
      const std::string path = JoinKey(node->path, name);
      const auto child = target_.hierarchy->Get(path, kAnyAge);
      if (child) {
        Walk(*child, visit);
      } else if (counting_) {
        report_.AddProblem(KeyOf(child.error().message, path), child.error());
      }
    }
  }

  void CheckObject(const ChunkCheck& check, OuterIndex outer) {
    const ChunkSource& source = *check.array().chunks;
    const std::string key = source.ObjectKey(outer);
    for (int attempt = 1;; ++attempt) {
      Findings findings;
      uint64_t chunks = 0;
      bool stale = false;
      try {
        stale = !CheckChunks(check, outer, key, findings, chunks);
      } catch (const std::bad_alloc&) {
        findings.Add(Error{ErrorCode::kTooLarge, "not enough memory"}, key, "");
      }
      if (stale) {
        source.Forget(outer);
        if (attempt < kAttempts) continue;
        findings.Add(Error{ErrorCode::kStale, "changes all the time while it is read"}, key, "");
      }
      ++objects_;
      chunks_ += chunks;
      report_.Report(key, findings);
      return;
    }
  }

  // False if the object changed under the check.
  bool CheckChunks(const ChunkCheck& check, OuterIndex outer, const std::string& key,
                   Findings& findings, uint64_t& chunks) {
    const ChunkSource& source = *check.array().chunks;
    const ArrayLayout& layout = source.layout();
    bool stale = false;
    OpenShardPtr checked;  // the shard whose own checksum was looked at last
    const auto visit = [&](InnerIndex chunk, const Result<ChunkLocation>& place) {
      Result<void> result;
      if (!place) {
        result = Fail(place);
      } else {
        if (layout.is_sharded() && place->shard != checked) {
          if (auto sums = check.CheckShardChecksums(*place->shard, checked == nullptr); !sums) {
            findings.Add(sums.error(), key, "");
          }
          checked = place->shard;
        }
        ++chunks;
        result = CheckChunk(check, *place);
      }
      if (!result) {
        stale = result.error().code == ErrorCode::kStale;
        if (!stale)
          findings.Add(result.error(), key, ChunkName(ToNumber(chunk), layout.inner_grid));
        if (findings.size() > kMaxReasons) report_.Report(key, findings);
      }
      return !stale && !StopRequested();
    };
    if (layout.is_sharded()) {
      ChunkCursor cursor(source, outer);
      const ListedChunk* next = nullptr;
      while ((next = cursor.Next()) != nullptr && visit(next->chunk, next->location)) {
      }
      if (!cursor.status()) {
        if (cursor.status().error().code == ErrorCode::kStale) return false;
        findings.Add(cursor.status().error(), key, "");
      }
    } else {
      const InnerIndex chunk{ToNumber(outer)};  // each is an object of its own
      const auto located = source.Locate(chunk, kAnyAge);
      if (!located) {
        visit(chunk, Fail(located));
      } else if (located->location) {
        visit(chunk, *located->location);
      }
    }
    return !stale;
  }

  Result<void> CheckChunk(const ChunkCheck& check, const ChunkLocation& place) {
    const auto bytes = check.Check(place);
    if (!bytes) return Fail(bytes);
    progress_->AddBytes(*bytes);
    bytes_ += *bytes;
    return {};
  }

  const TargetNode& target_;
  VerifyReport report_;
  unsigned jobs_ = 1;
  bool counting_ = false;
  Progress* progress_ = nullptr;  // while CheckAll runs

  std::atomic<uint64_t> objects_{0};
  std::atomic<uint64_t> chunks_{0};
  std::atomic<uint64_t> bytes_{0};  // encoded, of chunks that were decoded
  uint64_t arrays_ = 0;             // of the walking thread
};

}  // namespace

int RunVerify(const VerifyOptions& options) {
  const auto target = FindNode(options.store, options.path);
  if (!target) return Complain(target.error());
  return Verify(*target, options);
}

int Verify(const TargetNode& target, const VerifyOptions& options) {
  return Verification(target, options).Run();
}

}  // namespace zarrfs::ctl
