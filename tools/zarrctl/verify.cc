// One thread walks the hierarchy and the folders of stored objects and fills a short queue; the
// others take one object each, follow every entry of its indexes and decode every chunk. Memory is
// what the queue, the index cache and one chunk a thread need, however large the store.
#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tools/zarrctl/bounded_queue.h"
#include "tools/zarrctl/chunk_check.h"
#include "tools/zarrctl/commands.h"
#include "tools/zarrctl/describe.h"
#include "tools/zarrctl/interrupt.h"
#include "tools/zarrctl/object_check.h"
#include "tools/zarrctl/object_walk.h"
#include "tools/zarrctl/output.h"
#include "tools/zarrctl/progress.h"
#include "tools/zarrctl/target.h"
#include "tools/zarrctl/verify_report.h"

namespace zarrfs::ctl {
namespace {

constexpr size_t kQueuedPerThread = 8;

struct Task {
  std::shared_ptr<const ChunkCheck> check;  // of the array
  OuterIndex outer{};
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
      report_.SetProgress(&progress);
      is_checking_ = true;
      CheckAll(progress);
      report_.SetProgress(nullptr);
    }
    report_.Summarise(target_.FileOf(target_.node->path),
                      {arrays_, objects_.load(), chunks_.load(), bytes_.load()}, StopRequested());
    return StopRequested() ? kExitCtrlC : report_.ExitCode();
  }

 private:
  [[nodiscard]] const Store& store() const { return target_.hierarchy->store(); }

  void CheckAll(Progress& progress) {
    BoundedQueue<Task> queue(jobs_ * kQueuedPerThread);
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < jobs_; ++i) {
      threads.emplace_back([&] {
        while (auto task = queue.Pop()) {
          // Drain the queue after a stop too: the walk may be waiting for room.
          if (StopRequested()) continue;
          const ObjectCounts counts = CheckObject(*task->check, task->outer, report_, progress);
          ++objects_;
          chunks_ += counts.chunks;
          bytes_ += counts.bytes;
          progress.AddDone();
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

  // Calls `visit` for each array whose chunks can be found. Reports everything else only while
  // checking.
  void Walk(const NodePtr& node, const std::function<void(const NodePtr&)>& visit) {
    if (StopRequested()) return;
    if (const Error* error = node->unusable()) {
      if (!is_checking_) return;
      const std::string key = JoinKey(node->path, node->document);
      if (IsDamage(*error)) {
        report_.AddProblem(key, *error);
      } else {
        report_.AddUnchecked(node->path, "not checked", WithoutKey(error->message, key));
      }
      return;
    }
    if (const ArrayMetadata* array = node->array(); is_checking_ && array != nullptr &&
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
      if (is_checking_) report_.AddProblem(node->path, children.error());
      return;
    }
    for (const std::string& name : children->value) {
      const std::string path = JoinKey(node->path, name);
      const auto child = target_.hierarchy->Get(path, kAnyAge);
      if (child) {
        Walk(*child, visit);
      } else if (is_checking_) {
        report_.AddProblem(KeyOf(child.error().message, path), child.error());
      }
    }
  }

  const TargetNode& target_;
  VerifyReport report_;
  unsigned jobs_ = 1;
  bool is_checking_ = false;  // else only counting what there is to check

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
