#include "fs/tree/nodes.h"

#include <spdlog/spdlog.h>

#include <utility>

#include "zarrcore/base/answer_age.h"
#include "zarrcore/base/clocks.h"
#include "zarrcore/base/printable.h"

namespace zarrfs {
namespace {

HierarchyOptions OptionsOfHierarchy(const TreeOptions& options, const Timeouts& timeouts,
                                    OnSuperseded on_superseded) {
  return {.index_cache_bytes = options.index_cache,
          .node_cache_bytes = options.node_cache,
          .consolidated_max = options.consolidated_max,
          .forced_separator = options.separator,
          .fill = options.fill,
          .keeps_ome = options.keeps_ome,
          .compressors = options.compressors,
          .netcdf = options.netcdf,
          .string_scan = options.string_scan,
          .on_superseded = std::move(on_superseded),
          .reuse = timeouts.reuse(),
          .on_note = [](const Error& property) { spdlog::info("{}", OneLine(property.message)); },
          .is_for_others = options.is_for_others && !options.umask};
}

// The error for an inode whose file no longer exists. It is not kNotFound, which readers would
// treat as an absent chunk.
tl::unexpected<Error> GoneInode() {
  return Fail(ErrorCode::kStale, "the file or folder of this inode no longer exists");
}

}  // namespace

Nodes::Nodes(std::shared_ptr<const Store> store, const TreeOptions& options,
             std::optional<size_t> only_view, IdJournal& journal, const Timeouts& timeouts,
             FailureLog& failures, OnSuperseded on_superseded)
    : store_(std::move(store)),
      immutable_(options.immutable),
      only_view_(only_view),
      timeouts_(timeouts),
      failures_(failures),
      hierarchy_(store_, OptionsOfHierarchy(options, timeouts, std::move(on_superseded)),
                 [&failures](const Error& error) { failures.OnReport(error); }),
      listed_(only_view ? ViewSet().set(*only_view) : options.views),
      table_(listed_, journal, options.node_cache,
             store_->ChangesInSteps() ? options.past_versions : PastVersions::kMaxOpen) {}

Result<Target> Nodes::Resolve(NodeId id) {
  auto target = table_.Resolve(id);
  Result<CurrentNode> loaded = CurrentNode{};
  if (target && target->kind == Target::Kind::kUnloaded) {
    loaded = Refresh(target->record->path, kAnyAge);  // keeps the node loaded
    if (!loaded && loaded.error().code == ErrorCode::kNotFound) return GoneInode();
    if (!loaded) return Fail(loaded);
    target = table_.Resolve(id);
  }
  if (!target || target->kind == Target::Kind::kUnloaded) {
    return GoneInode();
  }
  if (target->kind == Target::Kind::kRoot) {
    target->record = table_.Find("");
    if (only_view_) {
      target->kind = Target::Kind::kFolder;
      target->view = *only_view_;
    }
  }
  return std::move(*target);
}

Result<CurrentNode> Nodes::Refresh(const std::string& path, Age max_age) {
  const auto node = hierarchy_.Get(path, max_age);
  if (!node) return Fail(node);
  if (path.empty()) {
    const MutexLock lock(root_mutex_);
    root_info_ = (*node)->folder_info;
  }
  return table_.Refresh(*node);
}

Result<CurrentNode> Nodes::RefreshListed(const std::string& path, size_t view, Age max_age) {
  const auto node = hierarchy_.GetListed(path, max_age);
  if (!node) return Fail(node);
  if ((*node)->is_provisional && (*node)->views[view].hidden) return Refresh(path, max_age);
  return table_.Refresh(*node);
}

Result<ListedNode> Nodes::List(const std::string& path, size_t view, Age max_age) {
  auto outline = hierarchy_.GetOutline(path, max_age, /*listed=*/true);
  if (outline && (*outline)->is_provisional && (*outline)->hidden[view]) {
    outline = hierarchy_.GetOutline(path, max_age);
  }
  if (!outline) return Fail(outline);
  if (store_is_gone_) CheckStore();
  const auto record = table_.Refresh(**outline);
  if (!record) return Fail(record);
  return ListedNode{*record, *std::move(outline)};
}

Result<KnownNode> Nodes::Know(const std::string& path, Result<CurrentNode> current) {
  if (current && current->node->unreadable() == nullptr) {
    if (store_is_gone_) CheckStore();
    return KnownNode{std::move(*current), std::nullopt};
  }
  Error error = current ? *current->node->unreadable() : current.error();
  if (error.code == ErrorCode::kWouldBlock) return tl::unexpected(error);
  if (error.code == ErrorCode::kNotFound) {
    CurrentNode last = LastSeen(path);
    if (last.node == nullptr) return tl::unexpected(error);
    CheckStore();
    return KnownNode{std::move(last), std::move(error)};
  }
  failures_.OnFailure("look-up", error);
  CheckStore();
  const auto record = table_.RecordOf(path);
  if (!record) return Fail(record);
  return KnownNode{table_.LastSeen(**record), std::move(error)};
}

KnownNode Nodes::LastKnown(const Target& target, const Error& error) const {
  return {target.record != nullptr ? table_.LastSeen(*target.record) : CurrentNode{}, error};
}

CurrentNode Nodes::LastSeen(std::string_view path) const {
  NodeRecord* const record = table_.Find(path);
  return record == nullptr ? CurrentNode{} : table_.LastSeen(*record);
}

std::optional<Error> Nodes::CheckStore() {
  const AcceptedAnswers accepted(timeouts_.check_age(), timeouts_.reuse());
  const auto root = hierarchy_.Get("", timeouts_.check_age());
  if (!root && root.error().code == ErrorCode::kWouldBlock) return std::nullopt;
  const Error* const error = root ? (*root)->unreadable() : &root.error();
  if (error == nullptr) {
    if (store_is_gone_.exchange(false)) spdlog::info("{} is back", store_->name());
    return std::nullopt;
  }
  if (!store_is_gone_.exchange(true)) {
    const std::string line =
        fmt::format("{} is gone or cannot be read: reading gives errors until it is back ({})",
                    store_->name(), OneLine(error->message));
    spdlog::error("{}", line);
    failures_.Add(line);
  }
  return *error;
}

std::optional<Error> Nodes::WhyGone(const Node& node, Age max_age) const {
  if (!immutable_ && node.freshness.validity().Holds(*store_)) return std::nullopt;
  const std::string key = node.implicit ? node.path : JoinKey(node.path, node.document);
  const int64_t now_ns = SteadyNowNs();
  const auto seen_ns = seen_ns_.Get(key);
  if (seen_ns != nullptr && now_ns - *seen_ns < max_age.count()) return std::nullopt;
  const AcceptedAnswers accepted(max_age, {});
  const OldestAnswer oldest;
  const auto document = store_->Stat(key);
  if (!document) return document.error();
  if (!store_->AnswersFast()) {
    seen_ns_.Put(key, std::make_shared<int64_t>(OldestAnswer::Or(now_ns)), key.size() + 256);
  }
  return std::nullopt;
}

ObjectInfo Nodes::InfoOf(const CurrentNode& node) const {
  if (node.node != nullptr) return node.node->folder_info;
  const MutexLock lock(root_mutex_);
  ObjectInfo info = root_info_;
  info.is_folder = true;
  info.mode = 0555;
  return info;
}

NodeRecord* Nodes::OwnerOf(std::string_view key) const {
  for (;;) {
    NodeRecord* const record = table_.Find(key);
    if (record != nullptr && (key.empty() || NodeTable::WasNode(*record))) return record;
    if (key.empty()) return nullptr;
    key = FolderOf(key);
  }
}

}  // namespace zarrfs
