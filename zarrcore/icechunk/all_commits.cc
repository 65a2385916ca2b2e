#include "zarrcore/icechunk/all_commits.h"

#include <algorithm>
#include <atomic>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "zarrcore/base/memory_budget.h"
#include "zarrcore/base/mutex.h"
#include "zarrcore/icechunk/commit_store.h"
#include "zarrcore/icechunk/differences.h"
#include "zarrcore/icechunk/looks.h"
#include "zarrcore/icechunk/parts.h"
#include "zarrcore/icechunk/snapshot.h"
#include "zarrcore/store/entries_stream.h"

namespace zarrfs {
namespace {

constexpr std::string_view kSnapshots = "snapshot";
constexpr size_t kMaxName = 255;         // the maximum length of a file name in bytes
constexpr uint64_t kBytesOfName = 1024;  // the approximate memory in bytes per branch or tag

using HeadPtr = std::shared_ptr<const IcechunkHead>;

// The snapshots that all branches and tags point to at one moment.
struct Names {
  struct Name {
    // The snapshot that readers see. It stays the same while the newest snapshot cannot be read.
    IcechunkId shown{};
    // True once a key below this branch or tag was used.
    std::shared_ptr<std::atomic<bool>> is_used;
    std::optional<Error> error = {};  // set if the branch or tag could never be read
  };

  MemoryBudget::Share memory;
  std::vector<IcechunkRef> refs;  // the branches and tags as they were last read
  std::map<std::string, Name, std::less<>> names;
  size_t too_long = 0;  // the number of names that are not shown because they are too long
  ObjectInfo info;      // the attributes of the most recently modified pointer file

  [[nodiscard]] const Name* Find(std::string_view name) const {
    const auto found = names.find(name);
    return found == names.end() ? nullptr : &found->second;
  }
};
using NamesPtr = std::shared_ptr<const Names>;

Result<std::shared_ptr<Names>> MakeNames(std::vector<IcechunkRef> refs, const Names* before) {
  auto memory = ProcessMemory().Take(refs.size() * kBytesOfName);
  if (!memory) return Fail(memory);
  auto made = std::make_shared<Names>();
  made->memory = *std::move(memory);
  made->refs = std::move(refs);
  for (size_t i = 0; i < made->refs.size(); ++i) {
    const IcechunkRef& ref = made->refs[i];
    std::string name = IcechunkFolderName(ref.at);
    if (name.size() > kMaxName) {
      ++made->too_long;
      continue;
    }
    const ObjectInfo& info = ref.pointer.info;
    if (i == 0 || info.version.mtime_ns > made->info.version.mtime_ns) made->info = info;
    const Names::Name* const known = before == nullptr ? nullptr : before->Find(name);
    made->names.emplace(
        std::move(name),
        Names::Name{ref.pointer.snapshot,
                    known != nullptr ? known->is_used : std::make_shared<std::atomic<bool>>(false),
                    ref.leads_somewhere() ? std::nullopt : ref.error});
  }
  made->info.may_change_elsewhere = false;
  return made;
}

// A change from the current Names to `next`.
struct Step {
  std::shared_ptr<Names> next;
  Changes changes;
  // Branches that have a new commit but were never used, so their commits were not compared.
  std::vector<std::string> unused;
};

// Records that everything below `name` may have changed.
void AddWhole(const std::string& name, Changes& changes) {
  changes.keys.push_back(name);
  changes.all_names = true;
}

class IcechunkAllStore final : public IcechunkCommitStore {
 public:
  IcechunkAllStore(const std::shared_ptr<const Store>& container, Age period, NamesPtr names,
                   std::shared_ptr<const IcechunkVirtualChunks> virtual_chunks)
      : IcechunkCommitStore(container, std::move(virtual_chunks)),
        names_(std::move(names)),
        looks_(container, period) {}

  Result<ObjectInfo> Stat(std::string_view key) const override {
    return IsOwnFolder(key) ? IcechunkInfoOfFolder(names()->info) : IcechunkCommitStore::Stat(key);
  }
  Result<std::unique_ptr<FolderStream>> OpenFolder(std::string_view folder) const override {
    if (!IsOwnFolder(folder)) return IcechunkCommitStore::OpenFolder(folder);
    const NamesPtr all = names();
    std::vector<ListEntry> entries;
    std::set<IcechunkId> seen;
    for (const auto& [name, of] : all->names) {
      if (folder.empty()) {
        entries.push_back({name, true, false});
      } else if (!of.error && seen.insert(of.shown).second) {
        entries.push_back({IcechunkIdText(of.shown), true, false});
      }
    }
    return std::make_unique<EntriesStream>(std::move(entries));
  }

  Result<void> StartWatching(ChangeListener listener,
                             std::function<void(std::string_view)> report) const override {
    report_ = std::move(report);
    looks_.Start([this](bool /*is_woken*/) { Look(); }, std::move(listener), report_);
    return {};
  }
  uint64_t change_count() const override { return generation_.load(); }
  WatchState watch_state() const override { return container()->watch_state(); }

 private:
  static bool IsOwnFolder(std::string_view key) { return key.empty() || key == kSnapshots; }

  [[nodiscard]] NamesPtr names() const {
    const MutexLock lock(mutex_);
    return names_;
  }

  [[nodiscard]] Result<HeadPtr> Head(const IcechunkId& id) const { return commits().Get(id); }

  [[nodiscard]] Result<IcechunkKey> Resolve(std::string_view key) const override {
    const size_t slash = std::min(key.find('/'), key.size());
    const std::string_view first = key.substr(0, slash);
    const std::string_view rest = key.substr(std::min(slash + 1, key.size()));
    if (first == kSnapshots) return ResolveSnapshot(key, rest);
    const NamesPtr all = names();
    const Names::Name* const found = all->Find(first);
    if (found == nullptr) {
      return Fail(ErrorCode::kNotFound, "{}: no such branch or tag in {}", key,
                  container()->name());
    }
    // Set is_used before anything is read. Look() checks it after Announce(), so it finds every
    // branch of which an answer may be cached.
    *found->is_used = true;
    if (found->error) {
      const Error error = IcechunkErrorOfCall(*found->error);
      return Fail(error.code, "{}: {}", key, error.message);
    }
    auto head = Head(found->shown);
    if (!head) return tl::unexpected(IcechunkErrorOfCall(head.error()));
    return KeyIn(*std::move(head), key, rest);
  }

  [[nodiscard]] std::string_view InCommit(std::string_view key) const override {
    const auto below = [](std::string_view path) {
      return path.substr(std::min(std::min(path.find('/'), path.size()) + 1, path.size()));
    };
    return key.starts_with(std::string(kSnapshots) + '/') ? below(below(key)) : below(key);
  }

  [[nodiscard]] Result<IcechunkKey> ResolveSnapshot(std::string_view key,
                                                    std::string_view below) const {
    const size_t slash = std::min(below.find('/'), below.size());
    const std::string_view name = below.substr(0, slash);
    const auto id = ParseIcechunkId(name);
    if (!id || IcechunkIdText(*id) != name) {
      return Fail(ErrorCode::kNotFound, "{}: not the id of a snapshot", key);
    }
    auto head = Head(*id);
    if (!head && head.error().code == ErrorCode::kNotFound) return Fail(head);
    if (!head) return tl::unexpected(IcechunkErrorOfCall(head.error()));
    return KeyIn(*std::move(head), key, below.substr(std::min(slash + 1, below.size())));
  }

  void Look() const {
    const NamesPtr known = names();
    std::optional<MemoryBudget::Work> work(std::in_place, ProcessMemory());
    WatchPointers(*known);
    auto step = ReadStep(*known);
    if (!step) {
      if (!std::exchange(has_failed_, true)) {
        report_(fmt::format("{}: branches and tags are shown as they were: {}", container()->name(),
                            step.error().message));
      }
      return;
    }
    has_failed_ = false;
    ReportRefs(*step->next);
    work.reset();
    Changes& changes = step->changes;
    if (changes.keys.empty() && step->unused.empty()) return Serve(std::move(step->next), 0);
    looks_.Announce(changes);
    // Check the unused branches again, because one may have been used for the first time while the
    // differences were computed. After Announce(), no name is cached.
    for (const std::string& name : step->unused) {
      if (*step->next->names.at(name).is_used) AddWhole(name, changes);
    }
    looks_.Report(changes, [&] { Serve(std::move(step->next), 1); });
  }

  // Logs the branches and tags that cannot be shown, unless the previous check has logged them.
  void ReportRefs(const Names& next) const {
    std::set<std::string> unreadable;
    for (const IcechunkRef& ref : next.refs) {
      if (!ref.error) continue;
      const std::string name = IcechunkFolderName(ref.at);
      unreadable.insert(name);
      if (unreadable_.contains(name)) continue;
      report_(fmt::format("{}: {} {}: {}", container()->name(), name,
                          ref.leads_somewhere() ? "is shown as it was" : "cannot be read",
                          ref.error->message));
    }
    unreadable_ = std::move(unreadable);
    if (next.too_long > std::exchange(too_long_, next.too_long)) {
      report_(
          fmt::format("{}: {} branches or tags are not shown, because their names have more "
                      "than {} bytes as file names: mount one of them by at=",
                      container()->name(), next.too_long, kMaxName));
    }
  }

  void WatchPointers(const Names& known) const {
    (void)container()->WatchAllNames("");
    std::string_view last;
    for (const IcechunkRef& ref : known.refs) {
      const std::string_view folder = FolderOf(ref.pointer.key);
      if (folder == last) continue;
      (void)container()->WatchAllNames(folder);
      (void)container()->WatchAllNames(FolderOf(folder));
      last = folder;
    }
  }

  [[nodiscard]] Result<Step> ReadStep(const Names& known) const {
    auto refs = ReadIcechunkRefs(*container(), known.refs);
    if (!refs) return Fail(refs);
    auto next = MakeNames(*std::move(refs), &known);
    if (!next) return Fail(next);
    Step step{.next = *std::move(next), .changes = {}, .unused = {}};
    for (const auto& [name, of] : known.names) {
      if (step.next->Find(name) == nullptr) AddWhole(name, step.changes);
    }
    for (auto& [name, of] : step.next->names) {
      const Names::Name* const before = known.Find(name);
      if (before == nullptr) {
        step.changes.keys.push_back(name);
      } else if (before->shown == of.shown) {
        continue;
      } else if (before->error || of.error) {
        AddWhole(name, step.changes);
      } else if (!*of.is_used) {
        step.unused.push_back(name);
      } else if (!AddDifferences(name, before->shown, of.shown, step.changes)) {
        of.shown = before->shown;
      }
    }
    return step;
  }

  // Adds the differences between two commits of `name`. False if the next commit cannot be read.
  bool AddDifferences(const std::string& name, const IcechunkId& before, const IcechunkId& next,
                      Changes& changes) const {
    const auto head = Head(next);
    if (!head) {
      if (failed_.insert(next).second) {
        report_(fmt::format("{}: {} is shown as it was: {}", container()->name(), name,
                            head.error().message));
      }
      return false;
    }
    const auto old = Head(before);
    if (!old) {
      changes.all = true;
      AddWhole(name, changes);
      return true;
    }
    const IcechunkSnapshot& snapshot = *(*old)->snapshot;
    Changes differences = FindIcechunkChanges(reader().finder(), snapshot, *(*head)->snapshot);
    if (differences.all) {
      AddWhole(name, changes);
      for (const IcechunkNode& node : snapshot.nodes()) {
        if (node.is_array) changes.folders.push_back(JoinKey(name, node.path));
      }
    }
    for (const std::string& key : differences.keys) changes.keys.push_back(JoinKey(name, key));
    return true;
  }

  void Serve(NamesPtr next, uint64_t steps) const {
    const MutexLock lock(mutex_);
    names_.swap(next);
    generation_ += steps;
  }

  mutable std::function<void(std::string_view)> report_;
  // The next four members are used only by the thread that checks the repository for changes.
  mutable bool has_failed_ = false;
  mutable std::set<IcechunkId> failed_;  // the commits that were logged as unreadable
  // The branches and tags that were unreadable at the last check.
  mutable std::set<std::string> unreadable_;
  mutable size_t too_long_ = 0;  // Names::too_long at the last check
  mutable Mutex mutex_;          // guards names_; also held to change generation_
  mutable NamesPtr names_ GUARDED_BY(mutex_);
  mutable std::atomic<uint64_t> generation_ = 1;
  mutable IcechunkLooks looks_;  // destroyed first, because its thread uses the other members
};

}  // namespace

std::string IcechunkFolderName(const IcechunkAt& at) {
  std::string name;
  for (const char c : at.Text()) {
    const auto byte = static_cast<unsigned char>(c);
    constexpr unsigned char kDelete = 0x7F;
    if (byte < ' ' || c == '/' || c == '%' || byte == kDelete) {
      name += fmt::format("%{:02X}", byte);
    } else {
      name += c;
    }
  }
  return name;
}

Result<std::shared_ptr<Store>> OpenAllOfIcechunk(
    const std::shared_ptr<const Store>& container, Age period,
    std::shared_ptr<const IcechunkVirtualChunks> virtual_chunks) {
  auto refs = ReadIcechunkRefs(*container);
  if (!refs) return Fail(refs);
  auto names = MakeNames(*std::move(refs), nullptr);
  if (!names) return Fail(names);
  return std::make_shared<IcechunkAllStore>(container, period, *std::move(names),
                                            std::move(virtual_chunks));
}

}  // namespace zarrfs
