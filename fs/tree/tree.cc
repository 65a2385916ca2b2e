#include "fs/tree/tree.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <new>
#include <utility>

#include "zarrcore/base/answer_age.h"
#include "zarrcore/base/clocks.h"
#include "zarrcore/base/printable.h"
#include "zarrcore/store/gated_store.h"

namespace zarrfs {
namespace {

// The usual period of Sweep(), and its period while names remain to be invalidated.
constexpr std::chrono::seconds kSweepPeriod{20};
constexpr std::chrono::seconds kForgettingPeriod{1};

constexpr std::string_view kShardAttribute = "user.zarrfs.shard";
constexpr std::string_view kOffsetAttribute = "user.zarrfs.offset";
constexpr std::string_view kExtendedAttributes[] = {kShardAttribute, kOffsetAttribute,
                                                    "user.zarrfs.length"};

// How long the contents of `metrics` and `status.json` are reused.
constexpr std::chrono::milliseconds kFiguresLast{100};

}  // namespace

Tree::Tree(std::shared_ptr<const Store> store, const TreeOptions& options,
           std::optional<size_t> only_view, std::unique_ptr<IdJournal> journal)
    : options_(options),
      start_time_(static_cast<double>(RealNowNs()) * 1e-9),
      store_(Gate(Count(std::move(store), store_counts_))),
      answers_fast_(store_->AnswersFast()),
      timeouts_(options_, *store_),
      journal_(std::move(journal)),
      nodes_(store_, options_, only_view, *journal_, timeouts_, failures_,
             [this](const ChunkSource& source, OuterIndex outer, const OpenShardPtr& old) {
               superseded_.Put(source.id(), outer, old, SupersededShards::Clock::now());
             }),
      epoch_limit_(options.epochs),
      files_(nodes_, timeouts_, options_),
      contents_(nodes_, files_, superseded_, *journal_, options.cache),
      entries_(options_, nodes_, contents_, files_, *journal_, timeouts_, failures_),
      lookup_(nodes_, entries_, timeouts_),
      folders_(nodes_, contents_, entries_, timeouts_, failures_, options.consolidated_max),
      prefetch_(contents_),
      status_files_(*journal_),
      root_check_([this]() -> std::optional<Error> {
        const MemoryBudget::Work work(ProcessMemory());
        try {
          return nodes_.CheckStore();
        } catch (const std::bad_alloc&) {
          return Error{ErrorCode::kNoMemory, "out of memory"};
        }
      }),
      memory_holder_(ProcessMemory(), [this](uint64_t missing) { Evict(missing); }) {
  journal_->DropKept();
  status_files_.Set({{"options", [this] { return OptionsText(Status()); }},
                     {"errors", [this] { return failures_.Text(); }},
                     {"metrics", [this] { return MetricsText(Status().figures); }, kFiguresLast},
                     {"status.json", [this] { return StatusJson(Status()); }, kFiguresLast}});
}

Result<std::unique_ptr<Tree>> Tree::Open(std::shared_ptr<const Store> store,
                                         const TreeOptions& options, Descriptor ids) {
  const std::string name = store->name();
  std::optional<size_t> only_view;
  if (!options.view.empty()) {
    only_view = ViewNumber(options.view);
    if (!only_view)
      return Fail(ErrorCode::kInvalidArgument, "no view is called '{}'", options.view);
  }
  auto journal = std::make_unique<IdJournal>();
  if (ids) {
    if (const auto continued = journal->Continue(std::move(ids)); !continued) {
      return Fail(continued);
    }
  }
  std::unique_ptr<Tree> tree(new Tree(std::move(store), options, only_view, std::move(journal)));
  // Accepts the answers that were requested when the store was opened.
  const AcceptedAnswers accepted(kAnyAge, {});
  const auto root = tree->nodes_.hierarchy().Get("", kAnyAge);
  if (!root && root.error().code == ErrorCode::kNotFound) {
    return Fail(ErrorCode::kNotFound,
                "{} is not a Zarr store: no zarr.json, .zarray or .zgroup in it or below", name);
  }
  if (!root) return Fail(root);
  if (const auto known = tree->nodes_.Refresh("", kAnyAge); !known) return Fail(known);
  if (const auto& metadata = (*root)->metadata; !metadata) {
    return Fail(ErrorCode::kDamaged, "{}/{}", name, metadata.error().message);
  }
  tree->failures_.StartLogging();
  for (size_t v = 0; v < AllViews().size(); ++v) {
    const auto& hidden = (*root)->views[v].hidden;
    if (hidden && tree->nodes_.listed_views()[v]) {
      spdlog::warn("not shown in {}: {}", AllViews()[v]->name(), hidden->message);
    }
  }
  return tree;
}

Result<Entry> Tree::LookUpStatus(NodeId folder, const std::string& name) {
  if (folder == kRootId) return entries_.StatusFolder();
  const auto file = status_files_.Look(name);
  return file ? entries_.StatusFile(*file) : Entry{};
}

Result<NodeId> Tree::ParentOf(NodeId id) {
  if (IsStatus(id)) return kRootId;
  const auto target = nodes_.Resolve(id);
  if (!target) return Fail(target);
  if (target->kind == Target::Kind::kRoot) return kRootId;
  if (target->kind == Target::Kind::kChunkFolder) {
    const ArrayRange& range = *target->range;
    const bool has_folder_of_all = !range.views[target->view].naming.Folder(range.rank()).empty();
    if (target->level > (has_folder_of_all ? 0 : 1)) {
      return range.FolderId(target->view, {target->prefix.data(), target->level - 1});
    }
    return nodes_.FolderId(*target->record, target->view);
  }
  if (target->kind != Target::Kind::kFolder) {
    return Fail(ErrorCode::kNotADirectory, "{}: not a folder", target->record->path);
  }
  const std::string& path = target->record->path;
  if (path.empty()) return kRootId;
  const auto parent = nodes_.Know(std::string(FolderOf(path)));
  if (!parent) return Fail(parent);
  return nodes_.FolderId(*parent->current.record, target->view);
}

Result<Entry> Tree::LookUpHandle(NodeId id, const std::string& name) {
  if (name == "..") {
    const auto parent = ParentOf(id);
    if (!parent) return Fail(parent);
    id = *parent;
  }
  return Attributes(id);
}

Result<Entry> Tree::LookUp(NodeId folder, const std::string& name) {
  const AcceptedAnswers accepted(timeouts_.check_age(), timeouts_.reuse());
  if (name == "." || name == "..") return LookUpHandle(folder, name);
  if (IsStatus(folder, name)) return LookUpStatus(folder, name);
  const auto target = nodes_.Resolve(folder);
  if (!target) return Fail(target);
  auto entry = lookup_.Find(*target, name);
  if (entry) return entry;
  if (entry.error().code != ErrorCode::kNotFound) {
    failures_.OnFailure("look-up", entry.error());
    return entry;
  }
  Entry absent;
  absent.name_timeout = timeouts_.Absence({});
  return absent;
}

Result<Entry> Tree::LookUpInterrupted(NodeId folder, const std::string& name) {
  const NoWaiting scope;
  if (name == "." || name == "..") return LookUpHandle(folder, name);
  if (IsStatus(folder, name)) return LookUpStatus(folder, name);
  const auto target = nodes_.Resolve(folder);
  if (!target) return Fail(target);
  return lookup_.FindInterrupted(*target, name);
}

void Tree::Forget(NodeId id, uint64_t lookups) {
  if (IsStatus(id) && id != StatusFiles::kFolderId) status_files_.Forget(id, lookups);
}

Result<Entry> Tree::EntryAsOf(const Target& target, const KnownNode& known) {
  CurrentNode node = known.current;
  switch (target.kind) {
    case Target::Kind::kFolder:
      return known.error ? entries_.UnreadableFolder(known, target.view)
                         : Result<Entry>(entries_.Folder(node, target.view));
    case Target::Kind::kDocument: {
      if (target.file == FileKind::kAssembledFile) return entries_.FileAsOf(target);
      // The lookup decides whether an assembled file can be made.
      const bool is_assembled = KindOfDocument(target.record->path, target.view, target.document) ==
                                FileKind::kAssembledFile;
      if (target.file == FileKind::kUnreadable && (known.error || is_assembled)) {
        return entries_.UnreadableDocument(node, target.view, target.document);
      }
      if (node.node == nullptr) break;
      auto entry = entries_.Document(node, target.view, target.document);
      if (!entry && entry.error().code == ErrorCode::kNotFound) break;
      return entry;
    }
    case Target::Kind::kChunkFolder:
      node.range = target.range;
      return entries_.ChunkFolder(node, target.view, {target.prefix.data(), target.level});
    case Target::Kind::kChunk: {
      node.range = target.range;
      const ChunkName chunk{node, target.view, target.chunk};
      if (target.file == FileKind::kFillChunk) return entries_.FillChunk(chunk, {});
      if (known.error) return entries_.UnreadableChunk(chunk, *known.error);
      const auto found = target.range->chunks->Locate(target.chunk, timeouts_.check_age(),
                                                      /*may_read=*/false, chunk.part().sizes());
      // The chunk is readable again. The next lookup finds it under another inode.
      const Error stale{ErrorCode::kStale, "can be read again"};
      return entries_.UnreadableChunk(chunk, found ? stale : found.error());
    }
    default:
      break;
  }
  return Fail(ErrorCode::kStale, "{}: the file or folder of this inode no longer exists",
              target.record->path);
}

Result<Entry> Tree::Root() {
  const NoWaiting scope;
  const auto would_wait = [](const Result<Entry>& entry) {
    return !entry && entry.error().code == ErrorCode::kWouldBlock;
  };
  auto root = entries_.Root();
  if (!would_wait(root)) return root;
  (void)root_check_.Problem();
  root = entries_.Root();
  return would_wait(root) ? entries_.RootAsLastSeen() : root;
}

Result<Entry> Tree::CurrentEntry(const Target& target) {
  if (target.kind == Target::Kind::kRoot) return Root();
  const auto known = nodes_.Know(target.record->path);
  if (!known) return Fail(known);
  return EntryAsOf(target, *known);
}

Result<Entry> Tree::Attributes(NodeId id) {
  const AcceptedAnswers accepted(timeouts_.check_age(), timeouts_.reuse());
  if (id == StatusFiles::kFolderId) return entries_.StatusFolder();
  if (IsStatus(id)) {
    const auto file = status_files_.Find(id);
    if (!file) return Fail(ErrorCode::kStale, ".zarrfs: this snapshot of a file is no longer kept");
    return entries_.StatusFile(*file);
  }
  const auto target = nodes_.Resolve(id);
  if (!target) return Fail(target);
  Result<Entry> entry = Entry{};
  if (target->file == FileKind::kStoredChunk) {
    const auto location = contents_.Locate(*target);
    entry = location ? entries_.Chunk(*target->range, target->view, target->chunk, *location,
                                      target->epoch)
                     : Fail(location);
    if (entry) entry->id = id;  // an inode contains its epoch only modulo kEpochs
    // Readers would treat any other error as an absent chunk. After kStale, the kernel looks up the
    // name again, and finds a file that cannot be read.
    if (!entry && entry.error().code != ErrorCode::kWouldBlock) {
      failures_.OnFailure("getattr", entry.error());
      entry.error().code = ErrorCode::kStale;
    }
  } else {
    entry = CurrentEntry(*target);
  }
  if (entry && entry->id != id) {
    return Fail(ErrorCode::kStale, "this version of the file no longer exists");
  }
  return entry;
}

Result<std::string> Tree::ExtendedAttribute(NodeId id, std::string_view name) {
  const Error none{ErrorCode::kNotFound, "no such attribute"};
  const auto attribute = std::ranges::find(kExtendedAttributes, name);
  if (attribute == std::end(kExtendedAttributes) || IsStatus(id)) return tl::unexpected(none);
  const auto target = nodes_.Resolve(id);
  if (!target) return Fail(target);
  if (target->file != FileKind::kStoredChunk) return tl::unexpected(none);
  const auto location = contents_.Locate(*target);
  if (!location) return Fail(location);
  if (*attribute == kShardAttribute) return target->range->chunks->ObjectKey(location->outer);
  return std::to_string(*attribute == kOffsetAttribute ? location->offset : location->length);
}

Result<std::string> Tree::ExtendedAttributes(NodeId id) {
  std::string names;
  if (IsStatus(id)) return names;
  const auto target = nodes_.Resolve(id);
  if (!target) return Fail(target);
  if (target->file != FileKind::kStoredChunk) return names;
  for (const std::string_view name : kExtendedAttributes) (names += name) += '\0';
  return names;
}

Result<Entry> Tree::NewestChunk(const Target& target) {
  const ArrayRange& range = *target.range;
  const auto& part = range.views[target.view];
  const auto node = nodes_.Refresh(target.record->path, Age{0});
  const bool has_layout =
      node && node->range != nullptr && node->range->views[target.view].files == part.files;
  const auto found = range.chunks->Locate(target.chunk, Age{0},
                                          part.encoding.must_be_read_for_size(), part.sizes());
  if (!node) return Fail(node);
  if (!found) return Fail(found);
  if (!has_layout) return Entry{};
  if (const auto& location = found->location) {
    const uint32_t epoch = range.ObserveEpoch(*location);
    return entries_.Chunk(range, target.view, target.chunk, *location, epoch);
  }
  Entry absent;
  if (target.file == FileKind::kFillChunk)
    absent.id = MakeFillId(range.PositionOf(target.view, target.chunk));
  return absent;
}

Result<Entry> Tree::NewestFile(const Target& target) {
  if (target.kind == Target::Kind::kChunk) return NewestChunk(target);
  const auto node = nodes_.Refresh(target.record->path, Age{0});
  if (!node) return Fail(node);
  return entries_.Document(*node, target.view, target.document);
}

Result<void> Tree::CheckOpen(NodeId id) {
  const AcceptedAnswers accepted(Age{0}, {});
  if (IsStatus(id)) return {};
  const auto target = nodes_.Resolve(id);
  const bool is_current =
      target && (target->file == FileKind::kNone || target->file == FileKind::kUnreadable);
  if (is_current) return {};
  const auto newest = target ? NewestFile(*target) : Fail(target);
  if (!newest && newest.error().code == ErrorCode::kWouldBlock) return Fail(newest);
  // If the file is unreadable now, kStale makes the kernel look up the name again, which finds an
  // inode that can be opened. GDAL treats a file that cannot be opened as an absent chunk.
  if (newest && newest->id == id) return {};
  return Fail(ErrorCode::kStale, "this version of the file no longer exists");
}

Result<Tree::Piece> Tree::Read(NodeId id, uint64_t offset, std::span<std::byte> buffer) {
  const AcceptedAnswers accepted(timeouts_.check_age(), timeouts_.reuse());
  if (IsStatus(id)) {
    const auto file = status_files_.Find(id);
    if (!file) return Fail(ErrorCode::kStale, ".zarrfs: this snapshot of a file is no longer kept");
    Piece piece;
    const auto bytes = std::as_bytes(std::span(*file->text));
    piece.bytes = bytes.subspan(std::min<uint64_t>(offset, bytes.size()));
    piece.bytes = piece.bytes.first(std::min(piece.bytes.size(), buffer.size()));
    piece.owner = file->text;
    return piece;
  }
  auto target = nodes_.Resolve(id);
  std::optional<Prefetch::Reading> reading;
  if (target && target->kind == Target::Kind::kChunk) reading.emplace(prefetch_);
  auto bytes = target ? contents_.Read(*target, offset, buffer) : Fail(target);
  if (!bytes) {
    failures_.OnFailure("read", bytes.error());
    return tl::unexpected(Contents::ErrorOfRead(bytes.error()));
  }
  return Piece{std::move(*bytes), std::move(*target)};
}

void Tree::PrefetchAfter(const Piece& piece, uint64_t offset, size_t size) {
  if (offset == 0 && piece.location) prefetch_.AfterRead(piece.target, *piece.location, size);
}

Result<Tree::OpenedFolder> Tree::OpenFolder(NodeId id) {
  const AcceptedAnswers accepted(timeouts_.check_age(), timeouts_.reuse());
  if (IsStatus(id)) return OpenedFolder{folders_.OpenStatus(status_files_), false};
  const auto target = nodes_.Resolve(id);
  if (!target) return Fail(target);
  auto folder = folders_.Open(*target);
  if (!folder) {
    failures_.OnFailure("opendir", folder.error());
    return Fail(folder);
  }
  OpenedFolder opened{std::move(*folder), options_.immutable};
  if (!options_.immutable) opened.is_cached = opened.folder->Open(listings_);
  if (options_.immutable || !opened.is_cached) {
    if (const auto prepared = opened.folder->Prepare(); !prepared) {
      failures_.OnFailure("opendir", prepared.error());
      return Fail(prepared);
    }
  }
  return opened;
}

Result<void> Tree::List(Folder& folder, uint64_t cookie, const AddEntry& add, ListingOf what) {
  const AcceptedAnswers accepted(timeouts_.check_age(), timeouts_.reuse());
  auto listed = folder.List(cookie, add, what);
  if (!listed) failures_.OnFailure("readdir", listed.error());
  return listed;
}

void Tree::OnLongRequest(Operation operation, NodeId id, std::string_view name,
                         std::chrono::seconds time) {
  const NoWaiting scope;
  std::string key;
  if (const auto target = nodes_.Resolve(id); !target) {
    key = fmt::format("inode {}", id);
  } else if (target->kind == Target::Kind::kChunk) {
    key = target->range->chunks->ObjectKey(target->range->chunks->OuterOf(target->chunk));
  } else if (target->record != nullptr) {
    key = target->record->path;
  }
  if (!name.empty()) key = JoinKey(key, name);
  if (key.empty()) key = "the root";
  failures_.OnFailure(
      kOperationNames[static_cast<size_t>(operation)],
      {ErrorCode::kTimedOut, fmt::format("{}: no answer for {} s", key, time.count())});
}

void Tree::OnChange(const Changes& changes) {
  files_.OnChange(changes);
  for (const std::string& key : changes.keys) {
    NodeRecord* const owner = nodes_.OwnerOf(key);
    if (owner == nullptr) continue;
    const RangePtr range = nodes_.table().RangeOf(*owner);
    if (range != nullptr && range->chunks->ObjectOfKey(key)) range->chunks->SetChanged();
  }
}

void Tree::Watch(std::function<void(const Changes&)> on_change, bool can_invalidate_all) {
  timeouts_.set_can_invalidate_all(can_invalidate_all);
  if (options_.immutable || (options_.ttl && !store_->ChangesInSteps())) return;
  const auto watching = store_->StartWatching(
      [this, on_change = std::move(on_change)](const Changes& changes) {
        if (changes.is_coming) timeouts_.set_is_changing(true);
        OnChange(changes);
        on_change(changes);
        if (changes.was_announced) timeouts_.set_is_changing(false);
      },
      [](std::string_view message) { spdlog::warn("{}", message); });
  if (!watching) spdlog::debug("changes are seen within a minute: {}", watching.error().message);
  const MutexLock lock(not_watched_mutex_);
  not_watched_ = watching ? "" : watching.error().message;
}

std::pair<SupersededShards::Clock::time_point, Changes> Tree::Sweep() {
  const MemoryBudget::Work work(ProcessMemory());
  store_->CloseIdle();
  contents_.Sweep();
  nodes_.Sweep();
  Changes forgotten = epoch_limit_.Sweep(nodes_);
  const auto now = SupersededShards::Clock::now();
  const auto again =
      std::min({superseded_.Sweep(now), nodes_.table().Sweep(now), failures_.Sweep(now),
                now + (forgotten.size() > 0 ? kForgettingPeriod : kSweepPeriod)});
  return {again, std::move(forgotten)};
}

void Tree::SetCacheSizes(uint64_t index_cache, uint64_t cache) {
  nodes_.hierarchy().SetIndexCacheSize(index_cache);
  contents_.SetCacheSize(cache);
}

void Tree::Evict(uint64_t bytes) {
  MemoryBudget& memory = ProcessMemory();
  const uint64_t used = memory.used();
  const uint64_t enough = used - std::min(used, bytes);
  const auto missing = [&] { return memory.used() - std::min(memory.used(), enough); };
  // First evicts the data that are easiest to load again.
  if (missing() > 0) contents_.Evict(missing());
  if (missing() > 0) nodes_.EvictTexts(missing());
  if (missing() > 0) nodes_.hierarchy().EvictIndexes(missing());
  if (missing() > 0) superseded_.Evict();
  if (missing() > 0) nodes_.hierarchy().EvictNodes(missing());
  if (missing() > 0) nodes_.table().Evict(missing());
}

MountStatus Tree::Status() {
  MountStatus status;
  static_cast<TreeOptions&>(status) = options_;
  status.store = store_->name();
  if (const auto problem = root_check_.Problem()) status.store_problem = OneLine(problem->message);
  {
    const MutexLock lock(not_watched_mutex_);
    status.not_watched = not_watched_;
  }
  status.watch = store_->watch_state();
  status.keeps_names = timeouts_.can_invalidate_all();
  status.old_versions = superseded_.size();
  if (store_->ChangesInSteps()) {
    const PastVersions& past = nodes_.table().epoch_usage().past;
    status.known_versions = past.size();
    status.known_versions_limit = past.limit();
  }
  status.figures = Figures();
  status.index_cache = status.figures.index_cache.limit;
  status.cache = status.figures.chunk_cache.limit;
  status.errors = failures_.Messages();
  if (describe_daemon_) describe_daemon_(status);
  return status;
}

MountFigures Tree::Figures() const {
  return {.start_time = start_time_,
          .requests = metrics_.figures(),
          .index_cache = nodes_.hierarchy().index_cache_statistics(),
          .chunk_cache = contents_.cache_statistics(),
          .memory_bytes = ProcessMemory().used(),
          .memory_limit = ProcessMemory().limit(),
          .store_reads = store_counts_->reads(),
          .store_read_bytes = store_counts_->read_bytes(),
          .store_errors = store_counts_->errors(),
          .arrays = nodes_.table().arrays(),
          .damage = failures_.damage()};
}

}  // namespace zarrfs
