// Writes a new store (`zarrctl pack`). Any number of processes write its objects, one part each, in
// any order. The process that finds all parts done writes the metadata documents: arrays before
// groups, the root last. DST/.zarrctl-pack contains the state of an unfinished pack:
//
//   plan                   the source and a digest of the documents; later runs must have the same
//   done-3-of-8            part 3 has written all its objects
//   .zarrctl-partial-…     files being written, or left by killed runs
#include <fcntl.h>
#include <fnmatch.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <filesystem>
#include <memory>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include "tools/zarrctl/commands.h"
#include "tools/zarrctl/interrupt.h"
#include "tools/zarrctl/memory.h"
#include "tools/zarrctl/output.h"
#include "tools/zarrctl/output_file.h"
#include "tools/zarrctl/pack/array_packer.h"
#include "tools/zarrctl/pack/pack_plan.h"
#include "tools/zarrctl/progress.h"
#include "tools/zarrctl/target.h"
#include "zarrcore/base/digest.h"
#include "zarrcore/base/mutex.h"
#include "zarrcore/base/printable.h"
#include "zarrcore/local/local_store.h"
#include "zarrcore/open/source.h"
#include "zarrcore/os/removal.h"
#include "zarrcore/view/view.h"

namespace zarrfs::ctl {
namespace {

namespace fs = std::filesystem;

constexpr const char* kState = ".zarrctl-pack";

struct PlannedArray {
  ArrayPlan plan;
  uint64_t pieces = 0;            // the number of stored objects of the source
  std::vector<uint64_t> objects;  // the sorted numbers of the new objects
};

struct PlannedNode {
  NodePtr node;
  std::optional<size_t> array;  // an index of arrays_; absent for groups
};

struct Work {
  const ArrayPacker* packer;
  uint64_t object;
};

// Sorts the numbers and removes duplicates.
void Compact(std::vector<uint64_t>& numbers) {
  std::ranges::sort(numbers);
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
}

class Packing {
 public:
  Packing(const TargetNode& source, const PackOptions& options)
      : source_(source), options_(options), state_(options.target + "/" + kState) {}

  Result<void> Plan() {
    settings_.keep_codecs = options_.keep_codecs;
    settings_.shard_size = options_.shard_size;
    settings_.chunks_per_shard = options_.chunks_per_shard;
    if (auto walked = Walk(source_.node); !walked) return walked;
    if (nodes_.empty() && refusals_.empty()) {
      return Fail(ErrorCode::kInvalidArgument, "no array or group matches --only");
    }
    for (PlannedArray& array : arrays_) {
      if (auto found = FindObjects(array); !found) return found;
    }
    return {};
  }

  // Reports every node that cannot be packed. False if the pack must not continue without these
  // nodes.
  [[nodiscard]] bool ListRefusals() const {
    for (const std::string& refusal : refusals_) Complain(refusal);
    if (refusals_.empty() || (options_.skip && !nodes_.empty())) return true;
    Complain(fmt::format("{} cannot be packed{}", CountText(refusals_.size(), "node"),
                         nodes_.empty() ? "" : "; --skip leaves them out"));
    return false;
  }
  [[nodiscard]] int ExitCode() const { return refusals_.empty() ? kExitOk : kExitUnchecked; }

  void PrintPlan() const {
    Table table;
    uint64_t others = files_.size();
    for (const PlannedNode& planned : nodes_) others += planned.node->is_v2() ? 2 : 1;
    uint64_t before = others, after = others;
    for (const PlannedArray& array : arrays_) {
      before += array.pieces;
      after += array.objects.size();
      table.Add({Visible(array.plan.node->path.empty() ? "/" : array.plan.node->path),
                 CountText(array.pieces, "file"), "-> " + GroupedText(array.objects.size()),
                 Visible(array.plan.what)});
    }
    table.Print();
    Print("{} -> {}, documents included\n", CountText(before, "file"), GroupedText(after));
  }

  Result<void> Run() {
    if (auto begun = Begin(); !begun) return begun;
    if (auto made = MakeObjects(); !made) return made;
    if (auto synced = Sync(); !synced) return synced;
    return Finish();
  }

  void Summarise() const {
    Print("{}: {} written, {} existed before, {}\n", Visible(options_.target),
          CountText(written_, "object"), GroupedText(skipped_),
          is_finished_ ? "complete" : "other parts are unfinished");
  }
  [[nodiscard]] bool is_stopped() const { return StopRequested(); }

 private:
  [[nodiscard]] std::string Relative(const std::string& path) const {
    const std::string& top = source_.node->path;
    return path.substr(top.empty() || path.size() == top.size() ? top.size() : top.size() + 1);
  }

  // True if --only matches the node or one of its parents.
  [[nodiscard]] bool IsWanted(const std::string& path) const {
    if (options_.only.empty()) return true;
    for (std::string below = Relative(path); !below.empty(); below = FolderOf(below)) {
      const auto matches = [&](const std::string& pattern) {
        return fnmatch(pattern.c_str(), below.c_str(), 0) == 0;
      };
      if (std::ranges::any_of(options_.only, matches)) return true;
    }
    return false;
  }

  // Records why a node cannot be packed.
  void Refuse(const Node& node, const Error& error) {
    const std::string path = node.path.empty() ? "/" : node.path;
    const bool is_named = error.message.starts_with(path);
    refusals_.push_back(is_named ? error.message : fmt::format("{}: {}", path, error.message));
  }

  Result<void> Walk(const NodePtr& node) {
    if (StopRequested()) return Fail(ErrorCode::kInterrupted, "interrupted by Ctrl-C");
    const bool is_wanted = IsWanted(node->path);
    if (const Error* error = node->unusable()) {
      if (is_wanted) Refuse(*node, *error);
      return {};
    }
    if (node->chunks != nullptr) {
      if (!is_wanted) return {};
      auto plan = PlanArray(node, settings_);
      if (!plan) {
        Refuse(*node, plan.error());
        return {};
      }
      nodes_.push_back({node, arrays_.size()});
      arrays_.push_back({std::move(*plan), 0, {}});
      return {};
    }
    return WalkGroup(node, is_wanted);
  }

  Result<void> WalkGroup(const NodePtr& node, bool is_wanted) {
    const size_t before = nodes_.size();
    nodes_.push_back({node, std::nullopt});
    const auto children = source_.hierarchy->Children(*node, kAnyAge);
    if (!children) return Fail(children);
    for (const std::string& name : children->value) {
      const auto child = source_.hierarchy->Get(JoinKey(node->path, name), kAnyAge);
      if (!child) return Fail(child);
      if (auto walked = Walk(*child); !walked) return walked;
    }
    if (!is_wanted && nodes_.size() == before + 1) {
      nodes_.pop_back();  // neither the node nor a node below it matches
      return {};
    }
    const auto files = source_.hierarchy->Files(*node, kAnyAge);
    if (!files) return Fail(files);
    for (const std::string& name : files->value) files_.push_back(JoinKey(node->path, name));
    return {};
  }

  Result<void> FindObjects(PlannedArray& array) const {
    const ArrayPlan& plan = array.plan;
    size_t compacted = 0;
    const auto add = [&](OuterIndex piece) {
      ChunkCoordinates at;
      plan.pieces().Coordinates(ToNumber(piece), at);
      for (size_t d = 0; d < plan.pieces().rank(); ++d) at[d] /= plan.pieces_per_object[d];
      const uint64_t object = plan.objects.Linear(at);
      ++array.pieces;
      if (array.objects.empty() || array.objects.back() != object) array.objects.push_back(object);
      if (array.objects.size() > 2 * compacted + (1 << 20)) {
        Compact(array.objects);
        compacted = array.objects.size();
      }
      return !StopRequested();
    };
    auto visited = plan.node->chunks->VisitOuter({}, add);
    Compact(array.objects);
    if (StopRequested()) return Fail(ErrorCode::kInterrupted, "interrupted by Ctrl-C");
    return visited;
  }

  // Returns a description of the plan. A later run can continue this pack only if its plan has the
  // same description.
  [[nodiscard]] std::string PlanText() const {
    DigestBuilder digest;
    for (const PlannedArray& array : arrays_) {
      digest.Add(array.plan.node->path).Add(array.plan.document);
    }
    std::string text = source_.FileOf(source_.node->path) + "\n";
    for (const uint8_t byte : digest.Finish().bytes) text += fmt::format("{:02x}", byte);
    return text + "\n";
  }

  Result<void> Begin() {
    std::error_code error;
    fs::create_directories(state_, error);
    if (error) return Fail(FromErrno(error.value()), "{}: {}", state_, error.message());
    auto store = OpenLocalStore(options_.target);
    if (!store) return Fail(store);
    target_ = std::move(*store);
    const auto before = ReadWhole(*target_, std::string(kState) + "/plan", 1 << 20);
    if (before && before->bytes != PlanText()) {
      return Fail(ErrorCode::kInvalidArgument,
                  "{}: unfinished pack of another source or with other options; continue that, or "
                  "remove it",
                  options_.target);
    }
    if (!before && before.error().code != ErrorCode::kNotFound) return Fail(before);
    if (before) return {};
    // If an earlier run was killed after it removed the plan, the new store is complete but has no
    // plan.
    if (fs::exists(fs::path(options_.target) / kZarrJson, error)) {
      return Fail(ErrorCode::kInvalidArgument, "{}: already complete; its {} can be removed",
                  options_.target, kState);
    }
    return WriteFile(state_, state_ + "/plan", PlanText());
  }

  Result<void> MakeObjects() {
    std::vector<std::unique_ptr<ArrayPacker>> packers;
    std::vector<Work> work;
    uint64_t number = 0;
    for (const PlannedArray& array : arrays_) {
      auto packer = ArrayPacker::Make(array.plan, source_.hierarchy->store(), target_,
                                      options_.target, state_, Relative(array.plan.node->path));
      if (!packer) return Fail(packer);
      packers.push_back(std::move(*packer));
      for (const uint64_t object : array.objects) {
        if (number++ % options_.parts == options_.part - 1) {
          work.push_back({packers.back().get(), object});
        }
      }
    }
    Progress progress("object", Progress::IsSeen(), "written");
    progress.Begin(work.size());
    unsigned jobs = options_.jobs;
    if (jobs == 0) jobs = std::max(1u, std::thread::hardware_concurrency());
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < jobs; ++i) threads.emplace_back([&] { Do(work, progress); });
    for (std::thread& thread : threads) thread.join();
    progress.End();
    const MutexLock lock(mutex_);
    if (failed_) return tl::unexpected(*failed_);
    if (StopRequested())
      return Fail(ErrorCode::kInterrupted, "interrupted by Ctrl-C; run it again");
    return {};
  }

  // Packs the objects in `work` until none is left or one fails. Each thread calls this.
  void Do(const std::vector<Work>& work, Progress& progress) {
    while (!StopRequested() && !has_failed_) {
      const size_t i = next_++;
      if (i >= work.size()) return;
      const auto packed = WithinMemory([&] { return work[i].packer->Pack(work[i].object); });
      Result<void> verified;
      if (packed && options_.verify) {
        verified = WithinMemory([&] { return work[i].packer->Verify(work[i].object); });
      }
      if (!packed || !verified) {
        const MutexLock lock(mutex_);
        if (!failed_) failed_ = packed ? verified.error() : packed.error();
        has_failed_ = true;
        return;
      }
      (packed->was_there ? skipped_ : written_)++;
      progress.AddDone();
      progress.AddBytes(packed->bytes);
    }
  }

  // Syncs the files and names of the new store to the disk. Must be called before a marker or
  // document that refers to them is written.
  [[nodiscard]] Result<void> Sync() const {
    const Descriptor folder(open(options_.target.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (folder && syncfs(folder.get()) == 0) return {};
    return Fail(FromErrno(errno), "{}: {}", options_.target, ErrnoText(errno));
  }

  [[nodiscard]] std::string MarkerOf(uint64_t part) const {
    return fmt::format("{}/done-{}-of-{}", state_, part, options_.parts);
  }

  Result<void> Finish() {
    if (auto marked = WriteFile(state_, MarkerOf(options_.part), ""); !marked) return marked;
    for (uint64_t part = 1; part <= options_.parts; ++part) {
      if (access(MarkerOf(part).c_str(), F_OK) != 0) return {};
    }
    if (auto copied = CopyFiles(); !copied) return copied;
    if (auto written = WriteDocuments(); !written) return written;
    if (auto synced = Sync(); !synced) return synced;
    // Two parts may finish at the same time. Both have then written the same documents.
    RemoveOwnFiles(state_, [](std::string_view name) {
      return name == "plan" || name.starts_with("done-") || IsPartialFile(name);
    });
    is_finished_ = true;
    return {};
  }

  // Copies the files of OME groups to the new store.
  Result<void> CopyFiles() const {
    for (const std::string& key : files_) {
      const auto whole = ReadWhole(source_.hierarchy->store(), key, kMaxChunkBytes);
      if (!whole) return Fail(whole);
      if (auto written = Write(Relative(key), whole->bytes); !written) return written;
    }
    return {};
  }

  Result<void> Write(const std::string& path, std::string_view bytes) const {
    const fs::path file = fs::path(options_.target) / path;
    std::error_code error;
    fs::create_directories(file.parent_path(), error);
    if (error) return Fail(FromErrno(error.value()), "{}: {}", file.string(), error.message());
    auto written = WriteFile(state_, file.string(), bytes);
    // Another part may have completed the store and removed the folder of partial files.
    if (!written && fs::exists(fs::path(options_.target) / kZarrJson, error)) return {};
    return written;
  }

  [[nodiscard]] std::string DocumentOf(const PlannedNode& planned) const {
    if (planned.array) return arrays_[*planned.array].plan.document;
    const GroupMetadata* const group = planned.node->group();
    if (group == nullptr || group->is_stored_as_v2()) {
      return planned.node->views[*ViewNumber("v3")].documents.front().bytes;
    }
    // The v3 view may show another version of OME-Zarr, but the new store keeps the stored version.
    ViewContext context;
    context.keeps_ome = true;
    return AllViews()[*ViewNumber("v3")]->ShowGroup(*group, context).documents.front().bytes;
  }

  Result<void> WriteDocuments() const {
    std::vector<std::string> paths;
    std::vector<std::vector<Document>> documents;
    for (const PlannedNode& planned : nodes_) {
      paths.push_back(Relative(planned.node->path));
      documents.push_back({{std::string(kZarrJson), DocumentOf(planned)}});
    }
    const Node& root = *source_.node;
    if (root.has_zmetadata() || !root.views[*ViewNumber("v3")].consolidated.empty()) {
      std::vector<NodeBelow> nodes;
      for (size_t i = 0; i < paths.size(); ++i) nodes.push_back({paths[i], documents[i]});
      documents[0][0].bytes = AllViews()[*ViewNumber("v3")]->Consolidate(nodes);
    }
    for (size_t i = paths.size(); i-- > 0;) {  // in reverse, so parents come after their children
      auto written = Write(JoinKey(paths[i], kZarrJson), documents[i][0].bytes);
      if (!written) return written;
    }
    return {};
  }

  const TargetNode& source_;
  const PackOptions& options_;
  const std::string state_;
  PackSettings settings_;
  std::vector<PlannedNode> nodes_;  // parents come before their children
  std::vector<PlannedArray> arrays_;
  std::vector<std::string> files_;     // the keys of the files in OME groups
  std::vector<std::string> refusals_;  // "path: reason" of each node that cannot be packed
  std::shared_ptr<const Store> target_;
  std::atomic<size_t> next_ = 0;
  std::atomic<uint64_t> written_ = 0, skipped_ = 0;
  std::atomic<bool> has_failed_ = false;
  Mutex mutex_;
  std::optional<Error> failed_ GUARDED_BY(mutex_);
  bool is_finished_ = false;
};

bool IsBelow(const fs::path& path, const fs::path& folder) {
  const auto [at, rest] = std::ranges::mismatch(folder, path);
  return at == folder.end();
}

}  // namespace

Result<std::string> MakeRoomForPack(PackOptions& options) {
  std::error_code error;
  const auto failed = [&] {
    return Fail(FromErrno(error.value()), "{}: {}", options.target, error.message());
  };
  if (Source(options.target).is_address()) {
    return Fail(
        ErrorCode::kInvalidArgument,
        "{}: a pack is written to a folder; pack into one, and copy that there, for example "
        "with rclone or aws s3 sync",
        options.target);
  }
  fs::path target = fs::absolute(options.target, error).lexically_normal();
  if (!target.has_filename()) target = target.parent_path();
  options.target = target.string();
  const fs::path source = fs::weakly_canonical(options.store, error);
  const fs::path real = fs::weakly_canonical(target, error);
  if (!Source(options.store).needs_fetcher() && (IsBelow(real, source) || IsBelow(source, real))) {
    return Fail(ErrorCode::kInvalidArgument, "{}: source and target overlap", options.target);
  }
  if (fs::exists(target, error) && !fs::exists(target / kState, error)) {
    const bool is_empty = fs::is_empty(target, error);
    if (error) return failed();
    if (!is_empty) {
      return Fail(ErrorCode::kInvalidArgument, "{}: not empty, and not an unfinished pack",
                  options.target);
    }
  }
  if (options.dry_run) return std::string();
  fs::create_directory(target, error);
  if (error) return failed();
  return options.target;
}

int Pack(const TargetNode& source, const PackOptions& options) {
  const StopOnInterrupt on_interrupt;
  Packing packing(source, options);
  auto done = packing.Plan();
  if (done && options.dry_run) packing.PrintPlan();
  if (done && !packing.ListRefusals()) return kExitWrong;
  if (done && options.dry_run) return packing.ExitCode();
  if (done) done = packing.Run();
  if (!done) {
    const int code = Complain(done.error());
    return packing.is_stopped() ? kExitCtrlC : code;
  }
  packing.Summarise();
  return packing.ExitCode();
}

}  // namespace zarrfs::ctl
