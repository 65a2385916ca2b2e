#include "fs/fuse/file_system.h"

#include <sched.h>
#include <spdlog/spdlog.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <limits>
#include <random>
#include <span>
#include <thread>
#include <utility>

#include "fs/daemon/log.h"
#include "fs/daemon/privileges.h"
#include "fs/fuse/reply.h"
#include "zarrcore/base/clocks.h"
#include "zarrcore/base/printable.h"
#include "zarrcore/store/gated_store.h"

namespace zarrfs {
namespace {

constexpr NodeId kUnknownInode = 0xffffffff;  // of a listed name that could not be looked at
constexpr double kForever = 1e9;              // seconds; a file's inode never changes its content

// Cookies of a listing. The entry at a cookie is the first one not given yet.
constexpr uint64_t kCookieDotDot = 1;
constexpr uint64_t kCookieDocuments = 2;
constexpr uint64_t kCookieChildren = 16;  // from here on: children by place
static_assert(kCookieDocuments + kMaxDocuments <= kCookieChildren);

// Without `ttl=`, names live for this share of the age of what they stand for, within limits; names
// of nothing for the least.
constexpr double kTtlShareOfAge = 0.1;
constexpr double kMinTtl = 1;  // seconds
constexpr double kMaxTtl = 60;

// This share of the time-to-live may pass between asking the store and telling the kernel.
constexpr double kCheckShare = 0.02;

// Of a chunk whose stored object is replaced meanwhile.
constexpr int kLookupAttempts = 3;

// How often what nobody reads any more is let go.
constexpr std::chrono::seconds kSweepPeriod{20};

// Metrics are made anew no more often.
constexpr std::chrono::milliseconds kMetricsLast{100};

// Not more names than these are taken back one by one.
constexpr size_t kMaxInvalidatedNames = 1u << 17;

Age CheckAge(const MountOptions& options) {
  if (options.immutable) return kAnyAge;
  return std::chrono::duration_cast<Age>(std::chrono::duration<double>(
      std::min(options.ttl.value_or(kMinTtl), kForever) * kCheckShare));
}

timespec ToTimespec(int64_t ns) {
  timespec time{};
  time.tv_sec = ns / 1'000'000'000;
  time.tv_nsec = ns % 1'000'000'000;
  if (time.tv_nsec < 0) {
    time.tv_nsec += 1'000'000'000;
    --time.tv_sec;
  }
  return time;
}

// Reading ahead of a reader: files of at most this size, so many bytes of them at a time.
constexpr size_t kMaxFileAhead = size_t{64} << 10;
constexpr size_t kMaxBytesAhead = size_t{256} << 10;

// So long the kernel may take to learn of a file whose look-up was answered.
constexpr std::chrono::microseconds kBecomesKnownWithin{50};

// A thread's buffer for the bytes of one READ.
std::span<std::byte> ReadBuffer(size_t size) {
  thread_local std::unique_ptr<std::byte[]> buffer;
  if (buffer == nullptr) buffer = std::make_unique_for_overwrite<std::byte[]>(kMaxRead);
  return {buffer.get(), std::min(size, kMaxRead)};
}

// Counts what is under way in `count`.
class UnderWay {
 public:
  explicit UnderWay(std::atomic<uint32_t>& count) : count_(count) { ++count_; }
  ~UnderWay() { --count_; }
  UnderWay(const UnderWay&) = delete;
  UnderWay& operator=(const UnderWay&) = delete;

 private:
  std::atomic<uint32_t>& count_;
};

uint64_t DrawGeneration() {
  std::random_device random;
  return random() & 0x7fffffff;
}

FileSystem& Self(fuse_req_t request) {
  return *static_cast<FileSystem*>(fuse_req_userdata(request));
}

}  // namespace

// A folder as it was when it was opened.
struct DirectoryHandle {
  DirectoryHandle() = default;
  ~DirectoryHandle() {
    if (listings != nullptr) listings->Close(self, count, is_current && was_read_to_end);
  }
  DirectoryHandle(const DirectoryHandle&) = delete;
  DirectoryHandle& operator=(const DirectoryHandle&) = delete;

  Target target;
  CurrentNode node;
  NodeId self = kRootId;
  bool is_mount_root_of_views = false;
  bool has_documents = false;         // metadata files, listed first
  std::vector<std::string> children;  // nodes below a group
  std::vector<std::string> status_files;
  std::vector<uint64_t> outers;   // stored objects whose chunks lie in this folder
  std::vector<uint64_t> folders;  // next coordinates of chunk folders
  // Where chunks that are not stored have files too: all of a range, and so all folders.
  uint64_t outer_count = 0;
  uint64_t first_outer = 0;
  uint64_t folder_count = 0;
  bool chunk_root = false;  // lists the folder "c" alone
  ChunkCoordinates prefix{};
  size_t level = 0;

  ListingTable* listings = nullptr;      // that was told of its opening
  uint64_t count = 0;                    // the store's change_count() when it was opened
  std::atomic<bool> is_current = false;  // all that was listed, while change_count() is `count`
  std::atomic<bool> was_read_to_end = false;
};

FileSystem::FileSystem(std::shared_ptr<const Store> store, std::shared_ptr<StoreCounts> counts,
                       const MountOptions& options, uint32_t shown_views)
    : store_counts_(std::move(counts)),
      store_(std::move(store)),
      options_(options),
      index_cache_size_(options.index_cache),
      cache_size_(options.cache),
      fast_(store_->AnswersFast()),
      only_view_(options.view.empty() ? std::nullopt : ViewNumber(options.view)),
      check_age_(CheckAge(options)),
      generation_(DrawGeneration()),
      failures_([](std::string_view line) { spdlog::warn("{}", line); }),
      start_time_(static_cast<double>(RealNowNs()) * 1e-9),
      chunk_reader_(options.cache),
      hierarchy_(
          store_,
          HierarchyOptions{
              .index_cache_bytes = options.index_cache,
              .node_cache_bytes = options.node_cache,
              .consolidated_max = options.consolidated_max,
              .forced_separator = options.separator,
              .fill = options.fill,
              .on_superseded =
                  [this](const ChunkSource& source, uint64_t outer, const OpenShardPtr& old) {
                    superseded_.Put(source.id(), outer, old, SupersededShards::Clock::now());
                  },
              .on_note =
                  [](const Error& property) { spdlog::info("{}", OneLine(property.message)); },
              .is_for_others = AllowsOthers(options) && !options.umask},
          [this](const Error& error) { OnReport(error); }),
      table_(shown_views, options.node_cache) {
  status_files_.Add("options", [this] { return DescribeOptions(); });
  status_files_.Add("errors", [this] { return errors_.Text(); });
  status_files_.Add(
      "metrics", [this] { return DescribeMetrics(); }, kMetricsLast);
}

Result<std::unique_ptr<FileSystem>> FileSystem::Open(std::shared_ptr<const Store> store,
                                                     const MountOptions& options) {
  const std::string name = store->name();
  uint32_t shown_views = (1u << AllViews().size()) - 1;
  if (!options.view.empty()) {
    const auto view = ViewNumber(options.view);
    if (!view) return Fail(ErrorCode::kInvalidArgument, "there is no view '{}'", options.view);
    shown_views = 1u << *view;
  }
  auto counts = std::make_shared<StoreCounts>();
  auto counted = Gate(Count(std::move(store), counts));
  std::unique_ptr<FileSystem> file_system(
      new FileSystem(std::move(counted), std::move(counts), options, shown_views));
  const auto root = file_system->hierarchy_.Get("", kAnyAge);
  if (root) (void)file_system->table_.Refresh(*root);  // known from now on
  if (!root) {
    if (root.error().code != ErrorCode::kNotFound) return Fail(root);
    return Fail(ErrorCode::kNotFound,
                "{} is not a Zarr store: no zarr.json, .zarray or .zgroup in it or below", name);
  }
  if (!(*root)->metadata)
    return Fail(ErrorCode::kDamaged, "{}/{}", name, (*root)->metadata.error().message);
  file_system->opened_ = true;
  for (size_t v = 0; v < AllViews().size(); ++v) {
    if (const auto& hidden = (*root)->views[v].hidden) {
      spdlog::warn("not shown in {}: {}", AllViews()[v]->name(), hidden->message);
    }
  }
  return file_system;
}

template <typename Handler, typename Known>
void FileSystem::Answer(fuse_req_t request, Operation operation, Handler handler, Known known) {
  const RequestMetrics::Request counted = RequestMetrics::Start(operation);
  if (fast_) {
    Reply reply(request, metrics_, counted);
    return handler(reply);
  }
  {
    const NoWaiting scope;
    Reply reply(request, metrics_, counted, nullptr, /*trial=*/true);
    handler(reply);
    if (!reply.must_wait()) return;
  }
  WaitingRoom::Submit(
      request,
      [this, request, counted, handler = std::move(handler)](const auto& ticket) {
        Reply reply(request, metrics_, counted, ticket);
        handler(reply);
      },
      [this, counted, known = std::move(known)](fuse_req_t interrupted) {
        const NoWaiting scope;
        const Result<fuse_entry_param> entry = known();
        metrics_.End(counted, RequestResult::kError);
        if (entry) {
          fuse_reply_entry(interrupted, &*entry);
        } else {
          fuse_reply_err(interrupted, EINTR);
        }
      });
}

// --- What goes wrong
// --------------------------------------------------------------------------------

void FileSystem::OnReport(const Error& error) {
  const std::string line = OneLine(error.message);
  const bool is_damage = error.code == ErrorCode::kDamaged;
  errors_.Add(line);
  if (is_damage) damage_.fetch_add(1, std::memory_order_relaxed);
  if (!opened_) return;
  // Of one object several things may be told that are no damage.
  failures_.Report(is_damage ? ObjectOf(line) : line, line, LogThrottle::Clock::now(), is_damage);
}

// Damage was told by OnReport(), and stale inodes are the normal end of a changed file.
void FileSystem::LogFailure(std::string_view what, const Error& error) const {
  if (error.code == ErrorCode::kWouldBlock || error.code == ErrorCode::kInterrupted) return;
  spdlog::debug("{}: {}", what, error.message);
  if (error.code == ErrorCode::kStale) return;
  const std::string message = OneLine(error.message);
  if (error.code == ErrorCode::kDamaged) {
    failures_.Count(ObjectOf(message), message, LogThrottle::Clock::now());
  } else {
    if (error.code != ErrorCode::kInterrupted) errors_.AddOnce(message);
    failures_.Report(ObjectOf(message), fmt::format("{}: {}", what, message),
                     LogThrottle::Clock::now());
  }
}

// --- Attributes
// -------------------------------------------------------------------------------------

struct stat FileSystem::FileAttributes(uint64_t inode, const ObjectInfo& info, uint64_t size,
                                       uint32_t links) const {
  struct stat st {};
  st.st_ino = inode;
  st.st_mode = S_IFREG | (info.mode & 0777 & ~0222u);
  if (options_.umask) st.st_mode = S_IFREG | (0777 & ~*options_.umask & ~0333u);
  st.st_nlink = links;
  st.st_uid = options_.uid.value_or(info.uid);
  st.st_gid = options_.gid.value_or(info.gid);
  st.st_size = static_cast<off_t>(size);
  st.st_blocks = static_cast<blkcnt_t>(size / 512 + (size % 512 != 0 ? 1 : 0));
  st.st_blksize = 4096;
  st.st_mtim = ToTimespec(info.version.mtime_ns);
  st.st_atim = st.st_mtim;
  st.st_ctim = ToTimespec(info.version.ctime_ns);
  return st;
}

struct stat FileSystem::FolderAttributes(uint64_t inode, const ObjectInfo& info) const {
  struct stat st = FileAttributes(inode, info, 0, 1);
  st.st_mode = S_IFDIR | (info.mode & 0777 & ~0222u);
  if (options_.umask) st.st_mode = S_IFDIR | (0777 & ~*options_.umask & ~0222u);
  return st;
}

struct stat FileSystem::FolderAttributes(uint64_t inode, const Node& node) const {
  const ObjectInfo& info = node.folder_info;
  struct stat st = FolderAttributes(inode, info);
  // (With `immutable` nothing changes, whatever is found out.)
  if (!options_.immutable && node.chunks != nullptr &&
      node.chunks->changed_ns() > info.version.mtime_ns) {
    st.st_mtim = st.st_ctim = ToTimespec(node.chunks->changed_ns());
  }
  return st;
}

Result<fuse_entry_param> FileSystem::RootEntry() {
  const auto root = Know("");
  if (!root) return Fail(root);
  if (root->error) {
    auto entry = UnreadableFolderEntry(*root, 0);
    if (entry) entry->attr.st_ino = entry->ino = kRootId;
    return entry;
  }
  fuse_entry_param entry{};
  entry.ino = kRootId;
  entry.generation = generation_;
  // (Nobody looks the root up; the notifier invalidates its attributes.)
  entry.attr_timeout = entry.entry_timeout = NodeTimeout(*root->seen.node);
  entry.attr = FolderAttributes(kRootId, *root->seen.node);
  return entry;
}

Result<fuse_entry_param> FileSystem::FolderEntry(const CurrentNode& node, size_t view) const {
  fuse_entry_param entry{};
  entry.ino = node.node->path.empty() && only_view_ ? kRootId : node.record->FolderId(view);
  entry.generation = generation_;
  entry.attr = FolderAttributes(entry.ino, *node.node);
  entry.attr_timeout = entry.entry_timeout = NodeTimeout(*node.node);
  return entry;
}

Result<fuse_entry_param> FileSystem::DocumentEntry(const CurrentNode& node, size_t view,
                                                   size_t document) const {
  const NodeView& shown = node.node->views[view];
  if (document == kConsolidatedDocument && !shown.consolidated.empty()) {
    return ConsolidatedEntry(node, view);
  }
  if (document >= shown.documents.size()) {
    return Fail(ErrorCode::kNotFound, "{}: no such document", node.node->path);
  }
  if (Hierarchy::DependsOnSiblings(node.node->path, view, document)) {
    return SharedDocumentEntry(node, view);
  }
  fuse_entry_param entry{};
  entry.ino = node.record->DocumentId(view, document, node.document_epoch);
  entry.generation = generation_ + node.document_epoch / kEpochs;
  ObjectInfo info = node.node->info;
  if (info.is_folder) info.mode &= ~0111u;
  const std::string& name = shown.documents[document].name;
  if (name != kZarray && name != kZgroup) info.mode &= node.node->attributes_mode;
  entry.attr = FileAttributes(entry.ino, info, shown.documents[document].bytes.size(), 1);
  entry.attr_timeout = kForever;
  entry.entry_timeout = NodeTimeout(*node.node);
  return entry;
}

Result<fuse_entry_param> FileSystem::ConsolidatedEntry(const CurrentNode& node, size_t view) const {
  const auto consolidated = hierarchy_.Consolidate(node.node, view, check_age_);
  if (!consolidated && consolidated.error().code == ErrorCode::kWouldBlock)
    return Fail(consolidated);
  if (consolidated && !(*consolidated)->is_too_large) {
    // Whoever has it goes straight to the chunks: these nodes are known from now on.
    if (!consolidated_epochs_.Known(node.record->DocumentId(view, kConsolidatedDocument, 0),
                                    (*consolidated)->text_number)) {
      for (const std::string& path : (*consolidated)->paths) {
        if (const auto below = hierarchy_.Get(path, kAnyAge)) (void)table_.Refresh(*below);
      }
    }
    return ConsolidatedEntry(node, view, **consolidated);
  }
  // Readers that do without look at each node, and learn which one cannot be read.
  if (!consolidated) LogFailure("consolidated metadata", consolidated.error());
  const NodeView& shown = node.node->views[view];
  const auto plain = std::ranges::find(shown.documents, shown.consolidated, &Document::name);
  if (plain == shown.documents.end()) {
    return Fail(ErrorCode::kNotFound, "{}: no consolidated metadata", node.node->path);
  }
  auto entry = DocumentEntry(node, view, static_cast<size_t>(plain - shown.documents.begin()));
  if (entry && !consolidated) entry->entry_timeout = kUnreadableTimeout;
  return entry;
}

fuse_entry_param FileSystem::ConsolidatedEntry(const CurrentNode& node, size_t view,
                                               const Consolidated& consolidated) const {
  const uint32_t epoch = consolidated_epochs_.Observe(
      node.record->DocumentId(view, kConsolidatedDocument, 0), consolidated.text_number);
  fuse_entry_param entry{};
  entry.ino = node.record->DocumentId(view, kConsolidatedDocument, epoch);
  entry.generation = generation_ + epoch / kEpochs;
  ObjectInfo info = node.node->info;
  if (info.is_folder) info.mode &= ~0111u;
  info.mode &= node.node->attributes_mode;
  info.version = consolidated.version;
  entry.attr = FileAttributes(entry.ino, info, consolidated.size, 1);
  entry.attr_timeout = kForever;
  entry.entry_timeout = NameTimeout(consolidated.version.ctime_ns, consolidated.freshness.validity());
  return entry;
}

Result<fuse_entry_param> FileSystem::SharedDocumentEntry(const CurrentNode& node,
                                                         size_t view) const {
  const auto shared = hierarchy_.ShareDimensions(node.node, view, check_age_);
  if (!shared) return Fail(shared);
  const MadeDocument& document = shared->value;
  const uint32_t epoch = shared_epochs_.Observe(node.record->DocumentId(view, kSharedDocument, 0),
                                                document.text_number);
  fuse_entry_param entry{};
  entry.ino = node.record->DocumentId(view, kSharedDocument, epoch);
  entry.generation = generation_ + epoch / kEpochs;
  ObjectInfo info = node.node->info;
  if (info.is_folder) info.mode &= ~0111u;
  info.mode &= node.node->attributes_mode;
  info.version = document.version;
  entry.attr = FileAttributes(entry.ino, info, document.size, 1);
  entry.attr_timeout = kForever;
  entry.entry_timeout = std::min(NodeTimeout(*node.node),
                                 NameTimeout(document.version.ctime_ns, shared->validity));
  return entry;
}

Result<fuse_entry_param> FileSystem::ChunkEntry(const CurrentNode& node, size_t view,
                                                uint64_t chunk, const ChunkLocation& place) const {
  const ArrayRange& range = *node.range;
  auto entry = ChunkEntry(range, view, chunk, place,
                          range.epochs->Observe(place.outer, place.shard->fingerprint));
  if (entry) {
    entry->entry_timeout = std::min(NameTimeout(place.shard->info.version.ctime_ns, Validity(place.watched)),
                                    NodeTimeout(*node.node));
  }
  return entry;
}

Result<fuse_entry_param> FileSystem::ChunkEntry(const ArrayRange& range, size_t view,
                                                uint64_t chunk, const ChunkLocation& place,
                                                uint32_t epoch) const {
  const auto& part = range.views[view];
  const auto size = chunk_reader_.Size(
      ChunkFile{*range.chunks, part.encoding, part.encoding_number, chunk, place});
  if (!size) return Fail(size);
  fuse_entry_param entry{};
  entry.ino = MakeId(part.files + chunk, epoch);
  entry.generation = generation_ + epoch / kEpochs;
  entry.attr = FileAttributes(entry.ino, place.shard->info, *size, part.links);
  entry.attr_timeout = kForever;
  return entry;
}

Result<fuse_entry_param> FileSystem::FillChunkEntry(const CurrentNode& node, size_t view,
                                                    uint64_t chunk, Validity validity) const {
  const auto& part = node.range->views[view];
  const auto size = part.fill_chunk->Size();
  if (!size) return Fail(size);
  ObjectInfo info = node.node != nullptr ? node.node->info : KnownInfo(node);
  info.mode &= ~0111u;
  fuse_entry_param entry{};
  entry.ino = MakeFillId(part.files + chunk);
  entry.generation = generation_;
  entry.attr = FileAttributes(entry.ino, info, *size, 1);
  entry.attr_timeout = node.node != nullptr ? NodeTimeout(*node.node) : kUnreadableTimeout;
  entry.entry_timeout = std::min(AbsenceTimeout(validity), entry.attr_timeout);
  return entry;
}

Result<fuse_entry_param> FileSystem::ChunkFolderEntry(const CurrentNode& node, size_t view,
                                                      std::span<const uint64_t> prefix,
                                                      Validity validity) const {
  fuse_entry_param entry{};
  entry.ino = node.range->FolderId(view, prefix);
  entry.generation = generation_;
  if (node.node == nullptr || node.node->unreadable() != nullptr) {
    entry.attr = FolderAttributes(entry.ino, KnownInfo(node));
    entry.attr_timeout = entry.entry_timeout = kUnreadableTimeout;
    return entry;
  }
  entry.attr = FolderAttributes(entry.ino, *node.node);
  entry.attr_timeout = NodeTimeout(*node.node);
  entry.entry_timeout =
      std::min(NameTimeout(node.node->info.version.ctime_ns, validity), entry.attr_timeout);
  return entry;
}

// --- Names
// ------------------------------------------------------------------------------------------

double FileSystem::NameTimeout(int64_t ctime_ns, Validity validity) const {
  if (options_.immutable) return kForever;
  if (options_.ttl) return *options_.ttl * (1 - kCheckShare);
  if (notifier_.can_invalidate_all() && validity.Holds(*store_)) return kForever;
  const double age = static_cast<double>(RealNowNs() - ctime_ns) * 1e-9;
  return std::clamp(age * kTtlShareOfAge, kMinTtl, kMaxTtl) - kMinTtl * kCheckShare;
}

double FileSystem::AbsenceTimeout(Validity validity) const {
  return NameTimeout(std::numeric_limits<int64_t>::max() / 2, validity);
}

double FileSystem::NodeTimeout(const Node& node) const {
  return NameTimeout(node.info.version.ctime_ns, node.freshness.validity());
}

Result<Target> FileSystem::Resolve(fuse_ino_t id) {
  auto target = table_.Resolve(id);
  Result<CurrentNode> loaded = CurrentNode{};
  if (target && target->kind == Target::Kind::kUnloaded) {
    loaded = Refresh(target->record->path, kAnyAge);  // holds what the table finds then
    if (!loaded) return Fail(loaded);
    target = table_.Resolve(id);
  }
  if (!target || target->kind == Target::Kind::kUnloaded) {
    return Fail(ErrorCode::kStale, "what this inode stood for is gone");
  }
  return std::move(*target);
}

Result<CurrentNode> FileSystem::Refresh(const std::string& path, Age max_age) {
  auto node = hierarchy_.Get(path, max_age);
  if (!node) return Fail(node);
  return table_.Refresh(*node);
}

bool FileSystem::IsRootOfMount(const Target& target) const {
  return target.kind == Target::Kind::kRoot;
}

Result<fuse_entry_param> FileSystem::LookupInRoot(const std::string& name) {
  const auto view = ViewNumber(name);
  if (!view) return Fail(ErrorCode::kNotFound, "no view '{}'", name);
  const auto root = Know("");
  if (!root) return Fail(root);
  if (root->error) return UnreadableFolderEntry(*root, *view);
  const CurrentNode& seen = root->seen;
  if (seen.node->views[*view].hidden) return Fail(ErrorCode::kNotFound, "hidden in {}", name);
  return FolderEntry(seen, *view);
}

Result<fuse_entry_param> FileSystem::LookupChunkPath(const CurrentNode& node, size_t view,
                                                     ChunkCoordinates prefix, size_t level,
                                                     std::string_view name, const Error* error) {
  const Error absent{ErrorCode::kNotFound, "no such chunk"};
  if (node.range == nullptr || !node.range->views[view].shown) return tl::unexpected(absent);
  const ArrayRange& range = *node.range;
  const ChunkNaming& naming = range.views[view].naming;
  const auto& grid = range.chunks->layout().inner_grid;
  const size_t rank = grid.rank();
  // `level` of the array's own folder is passed as kMaxRank + 1: no chunk folder has that.
  const bool in_array = level > kMaxRank;
  if (in_array) level = 0;
  for (size_t d = 0; d < level; ++d) {
    // A folder of an older layout that the array does not reach any more.
    if (prefix[d] >= grid.counts()[d]) return tl::unexpected(absent);
  }
  if (grid.size() == 0 || !naming.Parse(grid.counts(), name, in_array, prefix, level)) {
    return tl::unexpected(absent);
  }
  if (level == rank) {
    const uint64_t chunk = grid.Linear({prefix.data(), rank});
    const auto& part = range.views[view];
    const bool may_read = part.encoding.must_be_read_for_size();
    if (error != nullptr) {
      auto entry = UnreadableChunkEntry(node, view, chunk, *error);
      if (entry) entry->entry_timeout = kUnreadableTimeout;  // of metadata, not of the shard
      return entry;
    }
    for (int attempt = 1;; ++attempt) {
      uint64_t watched = 0;
      auto place = range.chunks->Locate(chunk, check_age_, may_read, &watched, part.sizes());
      if (place && !*place) {
        const auto gone = WhyGone(*node.node);
        if (gone) return UnreadableChunkEntry(node, view, chunk, *gone);
      }
      if (place && !*place && part.fill_chunk == nullptr) {
        fuse_entry_param nothing{};
        nothing.entry_timeout = std::min(AbsenceTimeout(Validity(watched)), NodeTimeout(*node.node));
        return nothing;
      }
      Result<fuse_entry_param> entry = !place   ? Result<fuse_entry_param>(Fail(place))
                                       : *place ? ChunkEntry(node, view, chunk, **place)
                                                : FillChunkEntry(node, view, chunk, Validity(watched));
      if (entry) return entry;
      if (entry.error().code == ErrorCode::kStale && attempt < kLookupAttempts) {
        range.chunks->Forget(range.chunks->OuterOf(chunk));
        continue;
      }
      return UnreadableChunkEntry(node, view, chunk, entry.error());
    }
  }
  uint64_t watched = 0;
  const auto any = range.views[view].fill_chunk != nullptr || error != nullptr
                       ? Result<bool>(true)
                       : range.chunks->AnyChunk({prefix.data(), level}, check_age_, &watched);
  if (!any && any.error().code == ErrorCode::kWouldBlock) return Fail(any);
  if (any && !*any) return tl::unexpected(absent);
  return ChunkFolderEntry(node, view, {prefix.data(), level}, Validity(watched));
}

Result<fuse_entry_param> FileSystem::LookupInFolder(const Target& folder, const std::string& name) {
  const std::string path = folder.record == nullptr ? "" : folder.record->path;
  const auto known = Know(path);
  if (!known) return Fail(known);
  if (folder.kind == Target::Kind::kChunkFolder) {
    CurrentNode node = known->seen;
    if (known->error && node.range == nullptr) node.range = folder.range;
    // Of an older layout: its coordinates still mean the same place, if it exists.
    if (node.range != nullptr && node.range->rank() != folder.range->rank()) {
      return Fail(ErrorCode::kStale, "{} changed its rank", path);
    }
    return LookupChunkPath(node, folder.view, folder.prefix, folder.level, name,
                           known->error ? &*known->error : nullptr);
  }
  if (known->error) return LookupInUnreadable(*known, folder.view, name);
  const CurrentNode& node = known->seen;
  const NodeView& view = node.node->views[folder.view];
  if (view.hidden) return Fail(ErrorCode::kNotFound, "hidden");
  if (!name.empty() && name == view.consolidated) return ConsolidatedEntry(node, folder.view);
  for (size_t d = 0; d < view.documents.size(); ++d) {
    if (view.documents[d].name == name) return DocumentEntry(node, folder.view, d);
  }
  if (node.node->chunks != nullptr) {
    return LookupChunkPath(node, folder.view, {}, kMaxRank + 1, name);
  }
  const auto child = Know(JoinKey(path, name));
  if (!child) return Fail(child);
  if (child->error) return UnreadableFolderEntry(*child, folder.view);
  if (!Hierarchy::Shows(*child->seen.node, name, folder.view)) {
    return Fail(ErrorCode::kNotFound, "hidden");
  }
  return FolderEntry(child->seen, folder.view);
}

Result<fuse_entry_param> FileSystem::StatusFolderEntry() {
  ObjectInfo info = KnownInfo(table_.LastSeen(*table_.Find("")));
  fuse_entry_param entry{};
  entry.ino = StatusFiles::kFolderId;
  entry.generation = generation_;
  entry.attr = FolderAttributes(entry.ino, info);
  entry.attr_timeout = entry.entry_timeout = kForever;
  return entry;
}

Result<fuse_entry_param> FileSystem::StatusEntry(const std::optional<StatusFiles::Snapshot>& file) {
  if (!file) return Fail(ErrorCode::kStale, "{}: too old", StatusFiles::kFolderName);
  fuse_entry_param entry{};
  entry.ino = file->id;
  entry.generation = generation_;
  ObjectInfo info = KnownInfo(table_.LastSeen(*table_.Find("")));
  info.mode &= ~0111u;
  info.version.mtime_ns = info.version.ctime_ns = file->made_ns;
  entry.attr = FileAttributes(entry.ino, info, file->text->size(), 1);
  entry.attr_timeout = kForever;
  return entry;  // its name is looked up each time
}

void FileSystem::Lookup(Reply& reply, fuse_ino_t parent, const std::string& name) {
  const bool is_status_folder = parent == kRootId && name == StatusFiles::kFolderName;
  if (is_status_folder || StatusFiles::Has(parent)) {
    reply.CountAs(Operation::kOther);
    const auto file = is_status_folder ? std::nullopt : status_files_.Look(name);
    if (!is_status_folder && !file) return reply.Failed(ErrorCode::kNotFound);
    const auto entry = is_status_folder ? StatusFolderEntry() : StatusEntry(file);
    if (entry) return reply.Entry(*entry);
    if (file) status_files_.Forget(file->id, 1);
    return reply.Failed(entry.error().code);
  }
  auto target = Resolve(parent);
  if (!target) return reply.Failed(target.error().code);
  if (IsRootOfMount(*target) && only_view_) {
    target->kind = Target::Kind::kFolder;
    target->view = *only_view_;
  }
  if (!IsRootOfMount(*target) && target->kind != Target::Kind::kFolder &&
      target->kind != Target::Kind::kChunkFolder) {
    return reply.Failed(ErrorCode::kNotADirectory);
  }
  const auto entry = IsRootOfMount(*target) ? LookupInRoot(name) : LookupInFolder(*target, name);
  if (entry) return AnswerLookup(reply, *entry);
  if (entry.error().code == ErrorCode::kNotFound) {
    fuse_entry_param absent{};
    absent.entry_timeout = AbsenceTimeout({});
    return reply.Entry(absent);
  }
  LogFailure("lookup", entry.error());
  reply.Failed(entry.error().code);
}

Result<fuse_entry_param> FileSystem::AttributesOf(const Target& target, const KnownNode& known) {
  CurrentNode node = known.seen;
  switch (target.kind) {
    case Target::Kind::kFolder:
      return known.error ? UnreadableFolderEntry(known, target.view)
                         : FolderEntry(node, target.view);
    case Target::Kind::kDocument: {
      if (target.epoch == kUnreadableEpoch && known.error) {
        return UnreadableDocumentEntry(node, target.view, target.document);
      }
      if (node.node == nullptr) break;
      auto entry = DocumentEntry(node, target.view, target.document);
      if (!entry && entry.error().code == ErrorCode::kNotFound) break;
      return entry;
    }
    case Target::Kind::kChunkFolder:
      node.range = target.range;
      return ChunkFolderEntry(node, target.view, {target.prefix.data(), target.level});
    case Target::Kind::kChunk: {
      node.range = target.range;
      if (target.epoch == kFillEpoch) return FillChunkEntry(node, target.view, target.chunk, {});
      if (known.error) return UnreadableChunkEntry(node, target.view, target.chunk, *known.error);
      const auto place =
          target.range->chunks->Locate(target.chunk, check_age_, /*may_read=*/false, nullptr,
                                       target.range->views[target.view].sizes());
      // (What can be read now has another inode, which the next look-up finds.)
      const Error stale{ErrorCode::kStale, "can be read again"};
      return UnreadableChunkEntry(node, target.view, target.chunk, place ? stale : place.error());
    }
    default:
      break;
  }
  return Fail(ErrorCode::kStale, "{}: what this inode stood for is gone", target.record->path);
}

void FileSystem::GetAttributes(Reply& reply, fuse_ino_t id) {
  if (StatusFiles::Has(id)) {
    reply.CountAs(Operation::kOther);
    const auto entry =
        id == StatusFiles::kFolderId ? StatusFolderEntry() : StatusEntry(status_files_.Find(id));
    return entry ? reply.Attributes(entry->attr, entry->attr_timeout)
                 : reply.Failed(entry.error().code);
  }
  auto target = Resolve(id);
  if (!target) return reply.Failed(target.error().code);
  if (IsRootOfMount(*target)) {
    const auto root = RootEntry();
    if (!root) return reply.Failed(root.error().code);
    return reply.Attributes(root->attr, root->attr_timeout);
  }
  Result<fuse_entry_param> entry = Fail(ErrorCode::kStale, "the content of this inode is gone");
  if (target->kind == Target::Kind::kChunk && target->epoch != kFillEpoch &&
      target->epoch != kUnreadableEpoch) {
    if (auto place = PlaceOf(*target)) {
      entry = ChunkEntry(*target->range, target->view, target->chunk, *place, target->epoch);
      if (entry) entry->ino = id;  // (an epoch is known by its lower bits)
    } else {
      entry = Fail(place);
    }
  } else {
    const auto known = Know(target->record->path);
    if (!known) return reply.Failed(known.error().code);
    entry = AttributesOf(*target, *known);
  }
  if (!entry) return reply.Failed(entry.error().code);
  if (entry->ino != id) return reply.Failed(ErrorCode::kStale);
  reply.Attributes(entry->attr, entry->attr_timeout);
}

// --- Reading
// ----------------------------------------------------------------------------------------

Result<ChunkLocation> FileSystem::PlaceOf(const Target& target) {
  const ArrayRange& range = *target.range;
  const ChunkSource& chunks = *range.chunks;
  const auto is_it = [&](uint32_t epoch) { return EpochOf(MakeId(0, epoch)) == target.epoch; };
  const Sizes sizes = range.views[target.view].sizes();
  auto place = chunks.Locate(target.chunk, kAnyAge, /*may_read=*/true, nullptr, sizes);
  if (place && *place) {
    const auto epoch = range.epochs->Known((*place)->outer, (*place)->shard->fingerprint);
    if (epoch && is_it(*epoch)) return std::move(**place);
  }
  if (!place && place.error().code == ErrorCode::kWouldBlock) return Fail(place);
  const uint64_t outer = chunks.OuterOf(target.chunk);
  if (const auto fingerprint = range.epochs->FingerprintOf(outer, is_it)) {
    const auto old = superseded_.Get(chunks.id(), outer, *fingerprint, Notifier::Clock::now());
    if (old != nullptr) {
      auto before = chunks.LocateIn(old, target.chunk, sizes);
      if (!before) return Fail(before);
      if (*before) return std::move(**before);
    }
  }
  if (!place) return Fail(place);
  return Fail(ErrorCode::kStale, "{}: replaced since it was opened", chunks.ObjectKey(outer));
}

Result<std::shared_ptr<const std::string>> FileSystem::TextOf(const Target& target) {
  if (target.epoch == kUnreadableEpoch) return tl::unexpected(WhyUnreadable(target));
  const auto is_it = [&](uint32_t epoch) { return EpochOf(MakeId(0, epoch)) == target.epoch; };
  NodeRecord& record = *target.record;
  if (target.document == kConsolidatedDocument) {
    const auto hash = consolidated_epochs_.FingerprintOf(
        record.DocumentId(target.view, kConsolidatedDocument, 0), is_it);
    if (!hash) return Fail(ErrorCode::kStale, "{}: replaced since it was opened", record.path);
    const auto group = hierarchy_.Get(record.path, kAnyAge);
    if (!group) return Fail(group);
    return hierarchy_.ConsolidatedText(*group, target.view, *hash);
  }
  if (Hierarchy::DependsOnSiblings(record.path, target.view, target.document)) {
    const auto hash =
        shared_epochs_.FingerprintOf(record.DocumentId(target.view, kSharedDocument, 0), is_it);
    if (!hash) return Fail(ErrorCode::kStale, "{}: replaced since it was opened", record.path);
    const auto node = hierarchy_.Get(record.path, kAnyAge);
    if (!node) return Fail(node);
    return hierarchy_.SharedText(*node, target.view, *hash);
  }
  NodePtr then;  // as it was in the inode's epoch
  bool is_current = false;
  {
    const std::lock_guard lock(record.mutex);
    is_current = is_it(record.document_epoch);
    if (is_current) then = record.node;
    for (const auto& [epoch, past] : record.past_documents) {
      if (is_it(epoch)) then = past;
    }
  }
  if (then == nullptr && is_current) {
    const auto seen = Refresh(record.path, kAnyAge);
    if (!seen) return Fail(seen);
    if (is_it(seen->document_epoch)) then = seen->node;
  }
  if (then == nullptr || target.document >= then->views[target.view].documents.size()) {
    return Fail(ErrorCode::kStale, "{}: replaced since it was opened", record.path);
  }
  return std::shared_ptr<const std::string>(
      then, &then->views[target.view].documents[target.document].bytes);
}

void FileSystem::Read(Reply& reply, fuse_ino_t id, size_t size, uint64_t offset) {
  const auto reply_with = [&](const std::shared_ptr<const std::string>& text) {
    if (text == nullptr) return reply.Failed(ErrorCode::kStale);
    const size_t from = std::min<uint64_t>(offset, text->size());
    reply.Bytes(text->data() + from, std::min(size, text->size() - from));
  };
  // Readers of Zarr take "no such file" for an absent chunk, also from a READ.
  const auto fail_with = [&](const Error& error) {
    LogFailure("read", error);
    reply.Failed(error.code == ErrorCode::kNotFound || error.code == ErrorCode::kNotADirectory
                     ? ErrorCode::kIo
                     : error.code);
  };
  if (StatusFiles::Has(id)) {
    reply.CountAs(Operation::kOther);
    const auto file = status_files_.Find(id);
    return reply_with(file ? file->text : nullptr);
  }
  if (offset == 0 && may_read_ahead_) early_reads_.OnRead(id);
  const auto target = Resolve(id);
  if (!target) return fail_with(target.error());
  if (target->kind == Target::Kind::kDocument) {
    const auto text = TextOf(*target);
    return text ? reply_with(*text) : fail_with(text.error());
  }
  if (target->kind != Target::Kind::kChunk) return reply.Failed(ErrorCode::kInvalidArgument);

  const ArrayRange& range = *target->range;
  const auto& part = range.views[target->view];
  if (target->epoch == kFillEpoch) {
    const auto out = ReadBuffer(size);
    const auto length = part.fill_chunk->Read(offset, out);
    if (!length) return fail_with(length.error());
    return reply.Bytes(reinterpret_cast<const char*>(out.data()), *length);
  }
  if (target->epoch == kUnreadableEpoch) return fail_with(WhyUnreadable(*target));
  const UnderWay counted(reads_under_way_);
  const auto place = PlaceOf(*target);
  if (!place) return fail_with(place.error());
  const auto piece = chunk_reader_.Read(
      ChunkFile{*range.chunks, part.encoding, part.encoding_number, target->chunk, *place}, offset,
      ReadBuffer(size));
  if (!piece) {
    if (piece.error().code == ErrorCode::kStale) range.chunks->Forget(place->outer);
    return fail_with(piece.error());
  }
  if (offset == 0 && place->length <= kMaxFileAhead && place->length <= size) {
    ReadAheadOf(*target, *place);
  }
  reply.Bytes(reinterpret_cast<const char*>(piece->bytes.data()), piece->bytes.size());
}

bool FileSystem::Offer(NodeId id, std::span<const std::byte> bytes) {
  fuse_bufvec data = FUSE_BUFVEC_INIT(bytes.size());
  data.buf[0].mem = const_cast<std::byte*>(bytes.data());
  if (fuse_lowlevel_notify_store(session_, id, 0, &data, FUSE_BUF_NO_SPLICE) != 0) return false;
  metrics_.CountReadAhead(bytes.size());
  return true;
}

// The kernel makes the sender wait while one of the pages is asked for by somebody else. So another
// thread must be there to answer that, and it must not wait in here itself. (Over io_uring requests
// of a core have but one thread.)
bool FileSystem::StartReadingAhead() {
  if (!may_read_ahead_ || reading_ahead_.exchange(true)) return false;
  if (!may_read_ahead_) {  // since a moment ago
    reading_ahead_ = false;
    return false;
  }
  return true;
}

void FileSystem::AnswerLookup(Reply& reply, const fuse_entry_param& entry) {
  const NodeId id = entry.ino;
  const auto size = static_cast<uint64_t>(entry.attr.st_size);
  if (!may_read_ahead_ || !S_ISREG(entry.attr.st_mode) || size == 0 || size > kMaxFileAhead ||
      !early_reads_.OnLookup(id)) {
    return reply.Entry(entry);
  }
  const auto target = Resolve(id);
  if (!target || target->kind != Target::Kind::kChunk || target->epoch == kFillEpoch ||
      target->range->views[target->view].encoding.kind == ChunkEncoding::Kind::kDecoded ||
      !StartReadingAhead()) {
    return reply.Entry(entry);
  }
  const auto& part = target->range->views[target->view];
  const auto place = PlaceOf(*target);
  const auto piece =
      !place ? Result<ChunkReader::Piece>(Fail(place))
             : chunk_reader_.Read(ChunkFile{*target->range->chunks, part.encoding,
                                            part.encoding_number, target->chunk, *place},
                                  0, {ahead_buffer_.get(), kMaxFileAhead});
  reply.Entry(entry);

  bool was_taken = false;
  if (piece && piece->bytes.size() == size) {
    const auto limit = std::chrono::steady_clock::now() + kBecomesKnownWithin;
    while (early_reads_.IsEarly(id)) {
      was_taken = Offer(id, piece->bytes);
      if (was_taken || std::chrono::steady_clock::now() > limit) break;
      sched_yield();  // to whoever takes the answer
    }
  }
  early_reads_.OnOffered(id, was_taken);
  reading_ahead_ = false;
}

void FileSystem::ReadAheadOf(const Target& target, const ChunkLocation& place) {
  if (!may_read_ahead_) return;
  const ArrayRange& range = *target.range;
  const auto& part = range.views[target.view];
  const auto& layout = range.chunks->layout();
  if (part.encoding.kind == ChunkEncoding::Kind::kDecoded || !layout.is_sharded()) return;

  const uint64_t slot = range.chunks->SlotOf(target.chunk);
  const uint64_t at = place.outer * layout.inner_per_outer_count + slot;
  const size_t count = read_ahead_.OnRead(part.files, at);
  // With other reads under way threads are better used for those.
  if (count == 0 || reads_under_way_ > 1 || !StartReadingAhead()) return;

  ChunkCoordinates folder{};
  size_t level = 0;  // of the folder that the file is in
  if (part.naming.nested() && range.rank() > 0) {
    layout.inner_grid.Coordinates(target.chunk, folder);
    level = range.rank() - 1;
  }
  uint64_t last = at;
  size_t files = 0;
  size_t bytes = 0;
  bool goes_on = false;  // there is more that could be read ahead
  bool is_refused = false;
  const auto visited = range.chunks->VisitChunks(
      place.outer, {folder.data(), level}, slot + 1, kAnyAge,
      [&](uint64_t next, uint64_t chunk, const Result<ChunkLocation>& found) {
        goes_on = true;
        if (files == count || !found || bytes + found->length > kMaxBytesAhead ||
            found->length > kMaxFileAhead || reads_under_way_ > 1) {
          return false;
        }
        const auto epoch = range.epochs->Known(found->outer, found->shard->fingerprint);
        if (!epoch) return false;
        const auto piece = chunk_reader_.Read(
            ChunkFile{*range.chunks, part.encoding, part.encoding_number, chunk, *found}, 0,
            {ahead_buffer_.get(), kMaxFileAhead});
        if (!piece) return false;  // whoever reads it is told why
        is_refused = !Offer(MakeId(part.files + chunk, *epoch), piece->bytes);
        if (is_refused) return false;
        last = place.outer * layout.inner_per_outer_count + next;
        ++files;
        bytes += piece->bytes.size();
        goes_on = false;
        return true;
      });
  if ((is_refused && files == 0) || reads_under_way_ > 1) {
    read_ahead_.Pause(part.files, at);
  } else {
    read_ahead_.OnReadAhead(part.files, at, last, visited && !goes_on);
  }
  reading_ahead_ = false;
}

void FileSystem::StopReadingAhead() {
  may_read_ahead_ = false;
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(1);
  while (reading_ahead_ && std::chrono::steady_clock::now() < limit) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

void FileSystem::Open(Reply& reply, fuse_ino_t id, fuse_file_info info) {
  constexpr Age kNow{0};
  if (StatusFiles::Has(id)) reply.CountAs(Operation::kOther);
  const auto target = StatusFiles::Has(id) ? Target{} : Resolve(id);
  if (!target) {
    return reply.Failed(target.error().code == ErrorCode::kWouldBlock ? target.error().code
                                                                      : ErrorCode::kStale);
  }
  // Told that the inode is of a version that is gone, the kernel looks the name up again.
  Result<fuse_entry_param> current = Fail(ErrorCode::kStale, "nothing is there now");
  if (target->kind == Target::Kind::kDocument && target->epoch != kUnreadableEpoch) {
    auto node = Refresh(target->record->path, kNow);
    current = node ? DocumentEntry(*node, target->view, target->document) : Fail(node);
  } else if (target->kind == Target::Kind::kChunk && target->epoch != kUnreadableEpoch) {
    const bool may_read = target->range->views[target->view].encoding.must_be_read_for_size();
    auto place = target->range->chunks->Locate(target->chunk, kNow, may_read, nullptr,
                                               target->range->views[target->view].sizes());
    if (!place) current = Fail(place);
    if (place && !*place && target->epoch == kFillEpoch) {
      fuse_entry_param same{};
      same.ino = id;
      current = same;
    }
    if (place && *place) {
      const uint32_t epoch =
          target->range->epochs->Observe((*place)->outer, (*place)->shard->fingerprint);
      current = ChunkEntry(*target->range, target->view, target->chunk, **place, epoch);
    }
  } else {
    fuse_entry_param same{};
    same.ino = id;
    current = same;
  }
  if (!current && current.error().code == ErrorCode::kWouldBlock)
    return reply.Failed(current.error().code);
  // (Looked up again, what cannot be read is a file that can be opened: GDAL takes one that cannot
  // for an absent chunk.)
  if (!current || current->ino != id) return reply.Failed(ErrorCode::kStale);
  info.keep_cache = 1;
  info.noflush = 1;
  (void)reply.Opened(info);
}

// --- Changes
// ----------------------------------------------------------------------------------------

NodeRecord* FileSystem::OwnerOf(std::string_view key) const {
  for (;;) {
    if (NodeRecord* record = table_.Find(key)) return record;
    if (key.empty()) return nullptr;
    key = FolderOf(key);
  }
}

void FileSystem::OnChange(const Changes& changes) {
  for (const std::string& key : changes.keys) {
    NodeRecord* const owner = OwnerOf(key);
    if (owner == nullptr) continue;
    const RangePtr range = table_.RangeOf(*owner);
    if (range != nullptr && range->chunks->ObjectOfKey(key)) range->chunks->SetChanged();
  }
  notifier_.Notify(changes);
}

void FileSystem::InvalidateEntries(fuse_session* session, const Changes& changes) {
  size_t left = kMaxInvalidatedNames;
  const auto invalidate = [&](NodeId folder, const std::string& name) {
    if (left == 0) return;
    --left;
    fuse_lowlevel_notify_inval_entry(session, folder, name.c_str(), name.size());
  };
  const auto folder_of = [&](const NodeRecord& record, size_t view) {
    return record.path.empty() && only_view_ ? kRootId : record.FolderId(view);
  };
  // As it was before the change, if it is still kept.
  const auto node_of = [&](NodeRecord& record) -> NodePtr {
    {
      const std::lock_guard lock(record.mutex);
      if (record.node != nullptr) return record.node;
    }
    const auto node = Refresh(record.path, kAnyAge);
    return node ? node->node : nullptr;
  };
  const auto invalidate_consolidated = [&](std::string_view path) {
    for (;; path = FolderOf(path)) {
      if (NodeRecord* const record = table_.Find(path)) {
        const NodePtr node = node_of(*record);
        for (size_t view = 0; node != nullptr && view < AllViews().size(); ++view) {
          const std::string& name = node->views[view].consolidated;
          if (!name.empty()) invalidate(folder_of(*record, view), name);
        }
      }
      if (path.empty()) return;
    }
  };
  // Documents of the root's children that depend on each other.
  const auto invalidate_shared = [&] {
    for (size_t view = 0; view < AllViews().size(); ++view) {
      const auto known = hierarchy_.KnownDimensions(view);
      if (known == nullptr) continue;
      for (const ArrayDimensions& array : known->arrays) {
        const NodeRecord* const record = table_.Find(array.array);
        if (record != nullptr) invalidate(folder_of(*record, view), std::string(kZattrs));
      }
    }
  };
  const auto invalidate_node = [&](NodeRecord& record) {
    const NodePtr node = node_of(record);
    if (node == nullptr) return;
    for (size_t view = 0; view < AllViews().size(); ++view) {
      for (const Document& document : node->views[view].documents) {
        invalidate(folder_of(record, view), document.name);
      }
      if (record.path.empty()) continue;
      if (const NodeRecord* parent = table_.Find(FolderOf(record.path))) {
        const std::string name = record.path.substr(record.path.rfind('/') + 1);
        invalidate(folder_of(*parent, view), name);
      }
    }
  };
  const auto invalidate_chunks = [&](const ArrayRange& range, std::optional<uint64_t> only_outer) {
    const auto& layout = range.chunks->layout();
    const auto& grid = layout.inner_grid;
    if (grid.size() == 0 || (!only_outer && grid.size() > left)) return;
    const uint64_t count = only_outer ? layout.inner_per_outer_count : grid.size();
    ChunkCoordinates at{};
    ChunkCoordinates outer_at{};
    if (only_outer) layout.outer_grid.Coordinates(*only_outer, outer_at);
    for (uint64_t slot = 0; slot < count && left > 0; ++slot) {
      bool inside = true;
      if (only_outer) {
        uint64_t rest = slot;
        for (size_t d = grid.rank(); d-- > 0; rest /= layout.inner_per_outer[d]) {
          at[d] = outer_at[d] * layout.inner_per_outer[d] + rest % layout.inner_per_outer[d];
          inside = inside && at[d] < grid.counts()[d];
        }
      } else {
        grid.Coordinates(slot, at);
      }
      for (size_t view = 0; inside && view < AllViews().size(); ++view) {
        const auto& part = range.views[view];
        if (!part.shown) continue;
        if (part.naming.nested() && grid.rank() > 0) {
          invalidate(range.FolderId(view, {at.data(), grid.rank() - 1}),
                     std::to_string(at[grid.rank() - 1]));
        } else {
          invalidate(folder_of(*range.record, view), part.naming.Path({at.data(), grid.rank()}));
        }
      }
    }
  };
  bool must_take_back_shared = false;
  for (const std::string& key : changes.keys) {
    NodeRecord* const owner = OwnerOf(key);
    if (owner == nullptr) continue;
    const NodePtr node = node_of(*owner);
    RangePtr range;
    {
      const std::lock_guard lock(owner->mutex);
      if (node != nullptr) range = owner->current;
    }
    const auto outer = range == nullptr ? std::nullopt : range->chunks->ObjectOfKey(key);
    if (outer) {
      invalidate_chunks(*range, outer);
      continue;
    }
    invalidate_node(*owner);
    invalidate_consolidated(owner->path);
    must_take_back_shared = true;
    if (range != nullptr) {
      invalidate_chunks(*range, std::nullopt);
    } else if (key.size() > owner->path.size()) {
      // A child that nobody has looked at yet, but perhaps for.
      const size_t begin = owner->path.empty() ? 0 : owner->path.size() + 1;
      const std::string child = key.substr(begin, key.find('/', begin) - begin);
      for (size_t view = 0; view < AllViews().size(); ++view) {
        invalidate(folder_of(*owner, view), child);
      }
    }
  }
  if (must_take_back_shared) invalidate_shared();
}

void FileSystem::OnMounted(fuse_session* session) {
  session_ = session;
  ahead_buffer_ = std::make_unique_for_overwrite<std::byte[]>(kMaxFileAhead);
  may_read_ahead_ = fast_ && options_.threads > 1 && !uses_io_uring_;
  notifier_.Start(
      session, !options_.no_epoch,
      [this](fuse_session* to, const Changes& changes) { InvalidateEntries(to, changes); },
      [this] {
        store_->CloseIdle();
        const auto now = Notifier::Clock::now();
        return std::min({superseded_.Sweep(now), failures_.Sweep(now), now + kSweepPeriod});
      });
  if (options_.immutable || options_.ttl) return;
  const auto watching =
      store_->StartWatching([this](const Changes& changes) { OnChange(changes); },
                            [](std::string_view message) { spdlog::warn("{}", message); });
  if (!watching) spdlog::info("changes are seen within a minute: {}", watching.error().message);
  // What the kernel was told of the root before holds for a while only: let it ask again.
  fuse_lowlevel_notify_inval_inode(session, FUSE_ROOT_ID, -1, 0);
  const std::lock_guard lock(not_watched_mutex_);
  not_watched_ = watching ? "" : watching.error().message;
}

void FileSystem::SetCacheSizes(uint64_t index_cache, uint64_t cache) {
  hierarchy_.SetIndexCacheSize(index_cache);
  chunk_reader_.SetBudget(cache);
  index_cache_size_ = index_cache;
  cache_size_ = cache;
}

std::string FileSystem::DescribeOptions() {
  std::string text;
  const auto say = [&text](std::string_view name, const auto& value) {
    text += fmt::format("{}: {}\n", name, value);
  };
  const auto seconds = [](double value) { return fmt::format("{} s", value); };
  const WatchState watch = store_->watch_state();
  std::string not_watched;
  {
    const std::lock_guard lock(not_watched_mutex_);
    not_watched = not_watched_;
  }
  say("version", ZARRFS_VERSION);
  say("pid", options_.pid);
  say("log_level", LogLevel());
  say("capabilities", CapabilitiesInForce());
  say("source", store_->name());
  const auto gone = CheckStore();
  say("store", gone ? "gone or cannot be read: " + OneLine(gone->message) : "there");
  say("options", OneLine(SettingsList(options_)));
  if (!options_.config_file.empty()) say("config", OneLine(options_.config_file));
  say("view", options_.view.empty() ? "all" : options_.view);
  say("links", OneLine(ToString(LinksInForce(options_))));
  say("separator", options_.separator == 0 ? "auto" : std::string(1, options_.separator));
  if (options_.consolidated_max == 0) {
    say("consolidated", "no");
  } else {
    say("consolidated_max", options_.consolidated_max);
  }
  const std::string by_age =
      fmt::format("a tenth of their age, {} to {}", kMinTtl, seconds(kMaxTtl));
  if (options_.immutable) {
    say("changes", "not looked for (immutable)");
  } else if (options_.ttl) {
    say("changes", fmt::format("looked for every {} (ttl)", seconds(*options_.ttl)));
  } else if (!not_watched.empty()) {
    say("changes", fmt::format("looked for after {}", by_age));
    say("not watched", not_watched);
  } else {
    say("changes", "told by the store");
    say("watched folders", watch.folders);
    if (!watch.limit.empty()) {
      say("elsewhere", fmt::format("looked for after {}: {}", by_age, watch.limit));
    }
    say("names", notifier_.can_invalidate_all()
                     ? "kept until something changes"
                     : fmt::format("kept for {}, taken back one by one", by_age));
  }
  say("open", options_.open_messages ? "message" : "auto");
  say("old versions",
      fmt::format("{} kept, for {} s after the last read, {} at most", superseded_.size(),
                  SupersededShards::kGracePeriod.count(), SupersededShards::kMaxSuperseded));
  say("index_cache", fmt::format("{} of {} bytes", hierarchy_.index_cache_statistics().bytes,
                                 index_cache_size_.load()));
  say("cache", fmt::format("{} of {} bytes", chunk_reader_.statistics().bytes, cache_size_.load()));
  say("node_cache", fmt::format("{} bytes", options_.node_cache));
  say("threads", options_.threads);
  const std::string no_io_uring = WhyNoIoUring(options_);
  say("requests", uses_io_uring_        ? "by io_uring"
                  : no_io_uring.empty() ? "through /dev/fuse (the kernel does not offer io_uring)"
                                        : fmt::format("through /dev/fuse ({})", no_io_uring));
  return text;
}

std::string FileSystem::DescribeMetrics() const {
  MountFigures figures;
  figures.start_time = start_time_;
  figures.index_cache = hierarchy_.index_cache_statistics();
  figures.chunk_cache = chunk_reader_.statistics();
  figures.arrays = table_.arrays();
  figures.damage = damage_.load(std::memory_order_relaxed);
  return MetricsText(metrics_, *store_counts_, figures);
}

// --- Listing
// ----------------------------------------------------------------------------------------

Result<std::shared_ptr<DirectoryHandle>> FileSystem::MakeHandle(const Target& given) {
  auto handle = std::make_shared<DirectoryHandle>();
  handle->count = store_->change_count();
  const auto set_current = [&](Validity validity) {
    validity &= Validity(handle->count) & handle->node.node->freshness.validity();
    handle->is_current = validity.is_known();
  };
  Target& target = handle->target;
  target = given;
  if (IsRootOfMount(target)) {
    if (!only_view_) {
      handle->is_mount_root_of_views = true;
      auto root = Refresh("", check_age_);
      if (!root) return Fail(root);
      if (root->node->unreadable() != nullptr) return tl::unexpected(*root->node->unreadable());
      handle->node = *root;
      set_current(Validity(handle->count));
      return handle;
    }
    target.kind = Target::Kind::kFolder;
    target.view = *only_view_;
  }
  auto node = Refresh(target.record == nullptr ? "" : target.record->path, check_age_);
  if (!node) return Fail(node);
  // (What a folder holds that cannot be read, nobody knows: it is not shown as empty.)
  if (node->node->unreadable() != nullptr) return tl::unexpected(*node->node->unreadable());
  handle->node = *node;
  handle->self = target.kind == Target::Kind::kChunkFolder
                     ? target.range->FolderId(target.view, {target.prefix.data(), target.level})
                     : FolderEntry(*node, target.view)->ino;
  if (target.kind == Target::Kind::kChunkFolder) {
    if (node->range == nullptr || node->range->rank() != target.range->rank()) {
      return Fail(ErrorCode::kStale, "{} changed its rank", target.record->path);
    }
    handle->prefix = target.prefix;
    handle->level = target.level;
  } else {
    handle->has_documents = true;
    if (node->node->group() != nullptr) {
      auto children = hierarchy_.Children(*node->node, check_age_);
      if (!children) return Fail(children);
      set_current(children->validity);
      handle->children = std::move(children->value);
      return handle;
    }
  }
  if (node->range == nullptr || !node->range->views[target.view].shown) return handle;
  const ArrayRange& range = *node->range;
  const ChunkNaming& naming = range.views[target.view].naming;
  const std::span<const uint64_t> prefix{handle->prefix.data(), handle->level};
  for (size_t d = 0; d < handle->level; ++d) {
    // A folder of an older layout that the array does not reach any more: empty.
    if (prefix[d] >= range.chunks->layout().inner_grid.counts()[d]) return handle;
  }
  const bool in_array = target.kind == Target::Kind::kFolder;
  if (range.chunks->layout().inner_grid.size() == 0) return handle;
  if (range.views[target.view].fill_chunk != nullptr) {
    const auto& layout = range.chunks->layout();
    const size_t rank = range.rank();
    if (in_array && naming.nested() && naming.prefix_c && rank > 0) {
      handle->chunk_root = true;
    } else if (naming.nested() && handle->level + 1 < rank) {
      handle->folder_count = layout.inner_grid.counts()[handle->level];
    } else {
      // One after the other: the prefix leaves the last axis open, or every one.
      ChunkCoordinates at{};
      for (size_t d = 0; d < handle->level; ++d) at[d] = prefix[d] / layout.inner_per_outer[d];
      handle->first_outer = layout.outer_grid.Linear({at.data(), rank});
      handle->outer_count =
          handle->level == 0 ? layout.outer_grid.size() : layout.outer_grid.counts()[rank - 1];
    }
    return handle;
  }
  if (in_array && naming.nested() && naming.prefix_c && range.rank() > 0) {
    const auto any = range.chunks->AnyChunk({}, check_age_);
    if (!any) return Fail(any);
    handle->chunk_root = *any;
  } else if (naming.nested() && handle->level + 1 < range.rank()) {
    auto folders = range.chunks->NextCoordinates(prefix, check_age_);
    if (!folders) return Fail(folders);
    handle->folders = std::move(*folders);
  } else {
    uint64_t watched = 0;
    auto outers = range.chunks->ListOuter(prefix, &watched);
    if (!outers) return Fail(outers);
    set_current(Validity(watched));
    handle->outers = std::move(*outers);
  }
  return handle;
}

namespace {

// Fills one READDIR or READDIRPLUS answer.
class ListingBuffer {
 public:
  // `for_ever`: names may be remembered for ever, because nothing changes.
  ListingBuffer(fuse_req_t request, size_t size, bool plus, bool for_ever)
      : request_(request), bytes_(size), plus_(plus), for_ever_(for_ever) {}

  [[nodiscard]] bool plus() const { return plus_; }

  /// False once the answer is full. An entry with id 0 is a name alone: the kernel looks it up.
  bool Add(const std::string& name, fuse_entry_param entry, uint64_t next_cookie) {
    const auto cookie = static_cast<off_t>(next_cookie);
    const size_t room = bytes_.size() - used_;
    // The kernel takes a name of a listing for as new as the moment when it reads the listing, and
    // a change may have come between.
    if (!for_ever_) entry.entry_timeout = std::min(entry.entry_timeout, kMaxTtl);
    const size_t need = plus_ ? fuse_add_direntry_plus(request_, bytes_.data() + used_, room,
                                                       name.c_str(), &entry, cookie)
                              : fuse_add_direntry(request_, bytes_.data() + used_, room,
                                                  name.c_str(), &entry.attr, cookie);
    if (need > room) return false;
    used_ += need;
    return true;
  }

  void Send(Reply& reply) const { reply.Bytes(bytes_.data(), used_); }

 private:
  fuse_req_t request_;
  std::vector<char> bytes_;
  size_t used_ = 0;
  const bool plus_;
  const bool for_ever_;
};

// A name whose attributes are not known; d_type says folder or file.
fuse_entry_param NameOnly(NodeId inode, mode_t type) {
  fuse_entry_param entry{};
  entry.attr.st_ino = inode;
  entry.attr.st_mode = type;
  return entry;
}

}  // namespace

void FileSystem::ReadDirectory(Reply& reply, const std::shared_ptr<DirectoryHandle>& handle,
                               size_t size, uint64_t cookie, bool plus) {
  ListingBuffer buffer(reply.request(), size, plus, options_.immutable);
  DirectoryHandle& dir = *handle;
  if (StatusFiles::Has(dir.self)) reply.CountAs(Operation::kOther);
  const size_t view = dir.target.view;
  bool room = true;
  if (cookie == 0) {
    room = buffer.Add(".", NameOnly(dir.self, S_IFDIR), kCookieDotDot);
    cookie = kCookieDotDot;
  }
  if (room && cookie == kCookieDotDot) {
    room = buffer.Add("..", NameOnly(kRootId, S_IFDIR), kCookieDocuments);
    cookie = kCookieDocuments;
  }
  for (; room && cookie < kCookieChildren; ++cookie) {
    const size_t d = cookie - kCookieDocuments;
    if (!dir.has_documents || d > kConsolidatedDocument) {
      cookie = kCookieChildren;
      break;
    }
    const NodeView& shown = dir.node.node->views[view];
    // Not made for a listing: that may take a while, and nobody may want it.
    const auto known =
        shown.consolidated.empty() ? nullptr : hierarchy_.KnownConsolidated(*dir.node.node, view);
    const bool is_consolidated =
        !shown.consolidated.empty() &&
        (known != nullptr
             ? !known->is_too_large
             : dir.node.node->has_zmetadata() || dir.children.size() <= options_.consolidated_max);
    if (d == kConsolidatedDocument && is_consolidated) {
      // Most likely: as it was when it was looked at last.
      const uint32_t epoch =
          consolidated_epochs_.Current(dir.node.record->DocumentId(view, kConsolidatedDocument, 0));
      const NodeId id = dir.node.record->DocumentId(view, kConsolidatedDocument, epoch);
      room = buffer.Add(shown.consolidated, NameOnly(id, S_IFREG), cookie + 1);
    } else if (d < shown.documents.size() &&
               !(is_consolidated && shown.documents[d].name == shown.consolidated)) {
      // (One that depends on siblings is not made for a listing either.)
      auto entry =
          Hierarchy::DependsOnSiblings(dir.node.node->path, view, d)
              ? NameOnly(
                    dir.node.record->DocumentId(
                        view, d, shared_epochs_.Current(dir.node.record->DocumentId(view, d, 0))),
                    S_IFREG)
              : DocumentEntry(dir.node, view, d);
      // The folder was opened a while ago: the kernel is to look the name up.
      if (!hierarchy_.IsFresh(*dir.node.node, check_age_)) {
        entry = NameOnly(entry->attr.st_ino, S_IFREG);
      }
      room = buffer.Add(shown.documents[d].name, *entry, cookie + 1);
    }
  }
  if (!room) return buffer.Send(reply);
  const uint64_t place = cookie - kCookieChildren;

  const auto send = [&] {
    if (room) dir.was_read_to_end = true;
    buffer.Send(reply);
  };
  if (dir.is_mount_root_of_views) {
    for (uint64_t v = place; room && v < AllViews().size(); ++v) {
      if (dir.node.node->views[v].hidden) continue;
      const auto entry = FolderEntry(dir.node, v);
      room = buffer.Add(std::string(AllViews()[v]->name()), *entry, kCookieChildren + v + 1);
    }
    return send();
  }
  for (uint64_t i = place; room && i < dir.status_files.size(); ++i) {
    room =
        buffer.Add(dir.status_files[i], NameOnly(kUnknownInode, S_IFREG), kCookieChildren + i + 1);
  }
  for (uint64_t i = place; room && i < dir.children.size(); ++i) {
    auto child = Refresh(JoinKey(dir.node.node->path, dir.children[i]), kAnyAge);
    if (!child && child.error().code == ErrorCode::kWouldBlock)
      return reply.Failed(child.error().code);
    const bool is_readable = child && child->node->unreadable() == nullptr;
    if (is_readable && !Hierarchy::Shows(*child->node, dir.children[i], view)) continue;
    if (!child && child.error().code == ErrorCode::kNotFound) continue;
    if (!child) LogFailure("readdir", child.error());
    const fuse_entry_param entry =
        is_readable ? *FolderEntry(*child, view) : NameOnly(kUnknownInode, S_IFDIR);
    room = buffer.Add(dir.children[i], entry, kCookieChildren + i + 1);
  }
  if (dir.node.range == nullptr) return send();

  const ArrayRange& range = *dir.node.range;
  const auto& layout = range.chunks->layout();
  const ChunkNaming& naming = range.views[view].naming;
  if (dir.chunk_root && place == 0) {
    const auto entry = ChunkFolderEntry(dir.node, view, {});
    room = buffer.Add("c", *entry, kCookieChildren + 1);
  }
  ChunkCoordinates at = dir.prefix;
  const std::span<const uint64_t> prefix{dir.prefix.data(), dir.level};
  const auto add_folder = [&](uint64_t value) {
    at[dir.level] = value;
    const auto entry = ChunkFolderEntry(dir.node, view, {at.data(), dir.level + 1});
    room = buffer.Add(std::to_string(value), *entry, kCookieChildren + value + 1);
  };
  for (const uint64_t value : dir.folders) {
    if (value >= place && room) add_folder(value);
  }
  for (uint64_t value = place; room && value < dir.folder_count; ++value) add_folder(value);

  // Chunk files. A place is a slot of a shard: each index is read once for a whole listing.
  const auto& part = range.views[view];
  const uint64_t slots = layout.inner_per_outer_count;
  std::string name;
  const auto entry_of = [&](uint64_t chunk,
                            const Result<ChunkLocation>& found) -> Result<fuse_entry_param> {
    if (!found && found.error().code == ErrorCode::kNotFound) {
      return FillChunkEntry(dir.node, view, chunk, {});
    }
    if (!found) return Fail(found);
    if (ChunkReader::KnowsSize(part.encoding, *found)) {
      return ChunkEntry(dir.node, view, chunk, *found);
    }
    // Not read for a listing: the kernel asks for the attributes that somebody wants.
    const uint32_t epoch = range.epochs->Observe(found->outer, found->shard->fingerprint);
    return NameOnly(MakeId(part.files + chunk, epoch), S_IFREG);
  };
  const auto list_chunks_of = [&](uint64_t outer) -> Result<void> {
    const uint64_t from = place > outer * slots ? place - outer * slots : 0;
    uint64_t watched = 0;
    auto visited = range.chunks->VisitChunks(
        outer, prefix, from, check_age_,
        [&](uint64_t slot, uint64_t chunk, const Result<ChunkLocation>& found) {
          layout.inner_grid.Coordinates(chunk, at);
          name = naming.nested() && range.rank() > 0 ? std::to_string(at[range.rank() - 1])
                                                     : naming.Path({at.data(), range.rank()});
          auto entry = entry_of(chunk, found);
          if (!entry) entry = UnreadableChunkEntry(dir.node, view, chunk, entry.error());
          if (!entry) entry = NameOnly(part.files + chunk, S_IFREG);
          room = buffer.Add(name, *entry, kCookieChildren + outer * slots + slot + 1);
          return room;
        },
        &watched, /*missing_too=*/part.fill_chunk != nullptr, part.sizes());
    if (watched != dir.count) dir.is_current = false;
    return visited;
  };
  Result<void> listed;
  for (auto outer = std::ranges::lower_bound(dir.outers, place / slots);
       room && listed && outer != dir.outers.end(); ++outer) {
    listed = list_chunks_of(*outer);
  }
  for (uint64_t outer = std::max(dir.first_outer, place / slots);
       room && listed && outer < dir.first_outer + dir.outer_count; ++outer) {
    listed = list_chunks_of(outer);
  }
  if (!listed) return reply.Failed(listed.error().code);
  send();
}

void FileSystem::OpenDirectory(Reply& reply, fuse_ino_t id, fuse_file_info info) {
  if (StatusFiles::Has(id)) reply.CountAs(Operation::kOther);
  const auto target = StatusFiles::Has(id) ? Target{} : Resolve(id);
  if (!target) return reply.Failed(target.error().code);
  Result<std::shared_ptr<DirectoryHandle>> handle = std::make_shared<DirectoryHandle>();
  if (StatusFiles::Has(id)) {
    (*handle)->self = id;
    (*handle)->status_files = status_files_.names();
  } else {
    handle = MakeHandle(*target);
  }
  if (!handle) {
    LogFailure("opendir", handle.error());
    return reply.Failed(handle.error().code);
  }
  auto owner = std::make_unique<std::shared_ptr<DirectoryHandle>>(std::move(*handle));
  info.fh = reinterpret_cast<uint64_t>(owner.get());
  info.cache_readdir = 1;
  if (options_.immutable) {
    info.keep_cache = 1;
  } else {
    DirectoryHandle& dir = **owner;
    dir.listings = &listings_;
    info.keep_cache = listings_.Open(dir.self, dir.count) ? 1 : 0;
  }
  if (reply.Opened(info)) owner.release();
}

void FileSystem::StatFs(Reply& reply) {
  struct statvfs st {};
  st.f_namemax = 255;
  const auto capacity = store_->Capacity();
  if (!capacity && capacity.error().code == ErrorCode::kWouldBlock) {
    return reply.Failed(capacity.error().code);
  }
  if (capacity) {
    st.f_bsize = st.f_frsize = capacity->block_size;
    st.f_blocks = capacity->blocks;
    st.f_bfree = capacity->blocks_free;
    st.f_bavail = capacity->blocks_available;
    st.f_files = capacity->files;
    st.f_ffree = st.f_favail = capacity->files_free;
  } else {
    st.f_bsize = st.f_frsize = 4096;
  }
  reply.StatFs(st);
}

void FileSystem::Forget(fuse_ino_t id, uint64_t looks) {
  if (StatusFiles::Has(id) && id != StatusFiles::kFolderId) status_files_.Forget(id, looks);
}

// --- The kernel's side
// --------------------------------------------------------------------------------

const fuse_lowlevel_ops& FileSystem::Operations() {
  static const fuse_lowlevel_ops operations = [] {
    fuse_lowlevel_ops ops{};
    // All that is negotiated stands here.
    ops.init = []([[maybe_unused]] void* self, fuse_conn_info* connection) {
      const auto want = [&](unsigned flag, bool wanted) {
        if (wanted && (connection->capable & flag) != 0) connection->want |= flag;
        if (!wanted) connection->want &= ~flag;
      };
      want(FUSE_CAP_NO_OPEN_SUPPORT, true);
      want(FUSE_CAP_ASYNC_READ, true);
      want(FUSE_CAP_PARALLEL_DIROPS, true);
      want(FUSE_CAP_READDIRPLUS, true);
      want(FUSE_CAP_READDIRPLUS_AUTO, true);
      want(FUSE_CAP_EXPORT_SUPPORT, false);
      // An inode's content never changes, so nothing is to be invalidated by its attributes; plain
      // reads beat splicing at every size.
      want(FUSE_CAP_AUTO_INVAL_DATA, false);
      want(FUSE_CAP_SPLICE_READ, false);
      want(FUSE_CAP_SPLICE_WRITE, false);
      want(FUSE_CAP_SPLICE_MOVE, false);
#ifdef FUSE_CAP_OVER_IO_URING
      auto& file_system = *static_cast<FileSystem*>(self);
      want(FUSE_CAP_OVER_IO_URING, WhyNoIoUring(file_system.options_).empty());
      file_system.uses_io_uring_ = (connection->want & FUSE_CAP_OVER_IO_URING) != 0;
#endif
      connection->max_read = kMaxRead;
      connection->max_readahead = kMaxRead;
      connection->max_background = 64;
      connection->congestion_threshold = 48;
      connection->time_gran = 1;
    };
    ops.lookup = [](fuse_req_t request, fuse_ino_t parent, const char* name) {
      Self(request).Answer(
          request, Operation::kLookup,
          [self = &Self(request), parent, name = std::string(name)](Reply& reply) {
            self->Lookup(reply, parent, name);
          },
          [self = &Self(request), parent, name = std::string(name)] {
            return self->LookupInterrupted(parent, name);
          });
    };
    ops.forget = [](fuse_req_t request, fuse_ino_t id, uint64_t looks) {
      Self(request).Forget(id, looks);
      Self(request).CountAnswered(Operation::kOther);
      fuse_reply_none(request);
    };
    ops.forget_multi = [](fuse_req_t request, size_t count, fuse_forget_data* forgotten) {
      for (const fuse_forget_data& each : std::span(forgotten, count)) {
        Self(request).Forget(each.ino, each.nlookup);
      }
      Self(request).CountAnswered(Operation::kOther);
      fuse_reply_none(request);
    };
    ops.getattr = [](fuse_req_t request, fuse_ino_t id, fuse_file_info*) {
      Self(request).Answer(
          request, Operation::kGetAttributes,
          [self = &Self(request), id](Reply& reply) { self->GetAttributes(reply, id); });
    };
    ops.open = [](fuse_req_t request, fuse_ino_t id, fuse_file_info* info) {
      // Answered once: from then on the kernel opens files without asking, and never releases them.
      if (!Self(request).options_.open_messages) {
        Self(request).CountAnswered(Operation::kOpen);
        fuse_reply_err(request, ENOSYS);
        return;
      }
      Self(request).Answer(
          request, Operation::kOpen,
          [self = &Self(request), id, info = *info](Reply& reply) { self->Open(reply, id, info); });
    };
    ops.read = [](fuse_req_t request, fuse_ino_t id, size_t size, off_t offset, fuse_file_info*) {
      Self(request).Answer(request, Operation::kRead,
                           [self = &Self(request), id, size, offset](Reply& reply) {
                             self->Read(reply, id, size, static_cast<uint64_t>(offset));
                           });
    };
    // Asked by programs that want to know whether a file is a terminal, as Python does at each
    // open; the kernel asks every time, whatever the answer.
    ops.ioctl = [](fuse_req_t request, fuse_ino_t, unsigned, void*, fuse_file_info*, unsigned,
                   const void*, size_t, size_t) {
      Self(request).CountAnswered(Operation::kOther);
      fuse_reply_err(request, ENOTTY);
    };
    ops.opendir = [](fuse_req_t request, fuse_ino_t id, fuse_file_info* info) {
      Self(request).Answer(request, Operation::kOpenDirectory,
                           [self = &Self(request), id, info = *info](Reply& reply) {
                             self->OpenDirectory(reply, id, info);
                           });
    };
    static constexpr auto list = [](fuse_req_t request, size_t size, off_t offset,
                                    fuse_file_info* info, bool plus) {
      auto handle = *reinterpret_cast<std::shared_ptr<DirectoryHandle>*>(info->fh);
      Self(request).Answer(
          request, Operation::kReadDirectory,
          [self = &Self(request), handle = std::move(handle), size, offset, plus](Reply& reply) {
            self->ReadDirectory(reply, handle, size, static_cast<uint64_t>(offset), plus);
          });
    };
    ops.readdir = [](fuse_req_t request, fuse_ino_t, size_t size, off_t offset,
                     fuse_file_info* info) { list(request, size, offset, info, false); };
    ops.readdirplus = [](fuse_req_t request, fuse_ino_t, size_t size, off_t offset,
                         fuse_file_info* info) { list(request, size, offset, info, true); };
    ops.releasedir = [](fuse_req_t request, fuse_ino_t, fuse_file_info* info) {
      delete reinterpret_cast<std::shared_ptr<DirectoryHandle>*>(info->fh);
      Self(request).CountAnswered(Operation::kOther);
      fuse_reply_err(request, 0);
    };
    ops.statfs = [](fuse_req_t request, fuse_ino_t) {
      Self(request).Answer(request, Operation::kStatFs,
                           [self = &Self(request)](Reply& reply) { self->StatFs(reply); });
    };
    return ops;
  }();
  return operations;
}

}  // namespace zarrfs
