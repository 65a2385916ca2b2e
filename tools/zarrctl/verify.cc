// `zarrctl verify`. One thread walks the hierarchy and the folders of stored objects, and fills a
// short queue. The other threads take one object at a time, check every entry of its indexes, and
// decode every chunk. Memory is limited to the queue, the index cache and one chunk per thread,
// regardless of the size of the store.
#include <algorithm>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tools/zarrctl/commands.h"
#include "tools/zarrctl/interrupt.h"
#include "tools/zarrctl/memory.h"
#include "tools/zarrctl/object_check.h"
#include "tools/zarrctl/output.h"
#include "tools/zarrctl/progress.h"
#include "tools/zarrctl/target.h"
#include "tools/zarrctl/verify_report.h"
#include "zarrcore/base/mutex.h"
#include "zarrcore/hierarchy/consolidated_nodes.h"
#include "zarrcore/hierarchy/source_documents.h"

namespace zarrfs::ctl {
namespace {

constexpr size_t kQueuedPerThread = 8;
// The maximum depth to which CountFiles() descends into folders that belong to no node.
constexpr int kMaxDepth = 64;

// A bounded queue between threads, for any number of producers and consumers.
template <typename T>
class BoundedQueue {
 public:
  explicit BoundedQueue(size_t limit) : limit_(limit) {}

  // Adds an element. Waits until the queue has room.
  void Push(T element) {
    MutexLock lock(mutex_);
    has_room_.wait(lock, [this]() REQUIRES(mutex_) { return elements_.size() < limit_; });
    elements_.push_back(std::move(element));
    has_elements_.notify_one();
  }

  // Closes the queue. Call after the last Push().
  void Close() {
    const MutexLock lock(mutex_);
    is_closed_ = true;
    has_elements_.notify_all();
  }

  // Removes and returns an element. Waits until the queue has one. nullopt once the queue is closed
  // and empty.
  std::optional<T> Pop() {
    MutexLock lock(mutex_);
    has_elements_.wait(lock,
                       [this]() REQUIRES(mutex_) { return is_closed_ || !elements_.empty(); });
    if (elements_.empty()) return std::nullopt;
    T element = std::move(elements_.front());
    elements_.pop_front();
    has_room_.notify_one();
    return element;
  }

 private:
  const size_t limit_;
  Mutex mutex_;
  CondVar has_room_;
  CondVar has_elements_;
  std::deque<T> elements_ GUARDED_BY(mutex_);
  bool is_closed_ GUARDED_BY(mutex_) = false;
};

struct Task {
  std::shared_ptr<const ObjectCheck> check;  // checks the objects of the array
  OuterIndex outer{};
};

class Verification {
 public:
  Verification(const TargetNode& target, const VerifyOptions& options)
      : target_(target), report_(options.json, progress_), jobs_(options.jobs) {
    if (jobs_ == 0) jobs_ = std::max(1u, std::thread::hardware_concurrency());
  }

  int Run() {
    const StopOnInterrupt on_interrupt;
    if (Progress::IsSeen()) {
      Walk(target_.node, [&](const NodePtr& node) {
        const auto count = [&](OuterIndex) {
          progress_.AddFound();
          return !StopRequested();
        };
        const auto skip = [](const std::string&, const Error&) { return !StopRequested(); };
        (void)node->chunks->VisitOuter({}, count, {.on_unreadable = skip});
      });
    }
    progress_.Begin();
    is_checking_ = true;
    CheckAll();
    progress_.End();
    report_.Summarise(target_.FileOf(target_.node->path), StopRequested());
    return StopRequested() ? kExitCtrlC : report_.ExitCode();
  }

 private:
  void CheckAll() {
    BoundedQueue<Task> queue(jobs_ * kQueuedPerThread);
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < jobs_; ++i) {
      threads.emplace_back([&] {
        while (auto task = queue.Pop()) {
          // After a stop request, only empties the queue, because the thread that fills it may be
          // waiting for room.
          if (StopRequested()) continue;
          task->check->Check(task->outer, report_);
          progress_.AddDone();
        }
      });
    }
    Walk(target_.node, [&](const NodePtr& node) {
      ++report_.counts.arrays;
      const auto check = std::make_shared<const ObjectCheck>(node);
      if (const auto& reason = check->why_not()) {
        report_.AddUnchecked(node->path, "only ranges were checked", *reason);
      }
      const auto queue_object = [&](OuterIndex outer) {
        if (StopRequested()) return false;
        queue.Push({check, outer});
        return true;
      };
      const auto report = [&](const std::string& key, const Error& error) {
        report_.AddProblem(key, error);
        return !StopRequested();
      };
      (void)node->chunks->VisitOuter({}, queue_object, {.on_unreadable = report});
    });
    queue.Close();
    for (std::thread& thread : threads) thread.join();
  }

  // Visits `node` and all nodes below it, and calls `visit` for each array whose chunks can be
  // found. Adds other findings to the report only if is_checking_.
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
      if (node->chunks == nullptr) return;
      visit(node);
      for (const NodePtr& below : LookBeside(*node, {})) Walk(below, visit);
      return;
    }
    const auto children = WithinMemory([&] { return target_.hierarchy->Children(*node, kAnyAge); });
    if (!children) {
      if (is_checking_) report_.AddProblem(node->path, children.error());
      return;
    }
    for (const std::string& name : children->value) {
      const std::string path = JoinKey(node->path, name);
      const auto child = WithinMemory([&] { return target_.hierarchy->Get(path, kAnyAge); });
      if (child) {
        Walk(*child, visit);
      } else if (is_checking_) {
        report_.AddProblem(KeyOf(child.error().message, path), child.error());
      }
    }
    if (!is_checking_) return;
    std::set<std::string> known(children->value.begin(), children->value.end());
    if (const auto files = target_.hierarchy->Files(*node, kAnyAge)) {
      known.insert(files->value.begin(), files->value.end());
    }
    (void)LookBeside(*node, known);
    CompareWithConsolidated(*node);
  }

  // Finds entries in a node's folder that do not belong to the node. Reports files, and returns the
  // nodes that it finds below an array. `known`: the names of the children of a group.
  std::vector<NodePtr> LookBeside(const Node& node, const std::set<std::string>& known) {
    std::vector<NodePtr> below;
    const auto& store = target_.hierarchy->store();
    // If the folder cannot be listed, another step reports the error: the search for the node's
    // chunks or children.
    auto stream = store.OpenFolder(node.path);
    while (stream && !StopRequested()) {
      const auto entries = (*stream)->Next(1024);
      if (!entries || entries->empty()) break;
      for (const ListEntry& entry : *entries) {
        const std::string key = JoinKey(node.path, entry.name);
        ChunkCoordinates at{};
        const bool is_chunk = node.chunks != nullptr && node.chunks->PrefixOfKey(key, at);
        if (entry.is_refused || is_chunk || known.contains(entry.name)) continue;
        if (!entry.is_folder) {
          if (!IsDocumentName(entry.name) && is_checking_) report_.AddStray(key);
        } else if (auto found = NodeBelowArray(node, entry.name)) {
          below.push_back(std::move(found));
        } else if (is_checking_) {
          CountFiles(key, 0);
        }
      }
    }
    return below;
  }

  // Returns the node `name` below an array, and adds a note about it to the report. Null if no such
  // node exists.
  NodePtr NodeBelowArray(const Node& node, const std::string& name) {
    if (node.array() == nullptr) return nullptr;
    const std::string path = JoinKey(node.path, name);
    const auto has_node = HasNodeBelow(target_.hierarchy->store(), path, /*or_in=*/true);
    if (!has_node || !*has_node) return nullptr;
    auto found = target_.hierarchy->Get(path, kAnyAge);
    if (is_checking_) {
      report_.AddNote(path, found ? "is below an array: it is not listed, only opened by its path"
                                  : "is below an array, and its name may be that of a chunk: it is "
                                    "not shown");
    }
    return found ? *found : nullptr;
  }

  void CountFiles(const std::string& folder, int depth) {
    const auto entries = target_.hierarchy->store().List(folder);
    for (const ListEntry& entry : entries.value_or(std::vector<ListEntry>())) {
      const std::string key = JoinKey(folder, entry.name);
      if (StopRequested() || entry.is_refused) continue;
      if (!entry.is_folder) report_.AddStray(key);
      if (entry.is_folder && depth < kMaxDepth) CountFiles(key, depth + 1);
    }
  }

  // Reports nodes that do not exist although consolidated metadata contain them.
  void CompareWithConsolidated(const Node& group) {
    const bool has_them =
        group.has_zmetadata() ||
        (group.group() != nullptr && group.group()->consolidated_metadata == Json::value_t::object);
    if (!has_them) return;
    const auto nodes = ReadConsolidatedNodes(target_.hierarchy->store(), group);
    if (!nodes) return;
    std::set<std::string> missing;
    std::string before;
    for (const auto& [key, text] : (*nodes)->texts) {
      const std::string path(FolderOf(key));
      if (path == std::exchange(before, path) || StopRequested()) continue;
      const auto node = target_.hierarchy->Get(path, kAnyAge);
      if (!node && node.error().code == ErrorCode::kNotFound) missing.insert(path);
    }
    if (missing.empty()) return;
    report_.AddNote(
        (*nodes)->document,
        fmt::format("names {} that {} not exist, for example {}", CountText(missing.size(), "node"),
                    missing.size() == 1 ? "does" : "do", *missing.begin()));
  }

  static bool IsDocumentName(std::string_view name) {
    return name == kZarrJson || name == kZarray || name == kZgroup || name == kZattrs ||
           name == kZmetadata;
  }

  const TargetNode& target_;
  Progress progress_{"object"};
  VerifyReport report_;
  unsigned jobs_;
  bool is_checking_ = false;  // false while the walk only counts the work
};

}  // namespace

int Verify(const TargetNode& target, const VerifyOptions& options) {
  return Verification(target, options).Run();
}

}  // namespace zarrfs::ctl
