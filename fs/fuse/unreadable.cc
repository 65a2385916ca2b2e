// FileSystem: what is there and cannot be read, or may be there.
//
// Absent is a value in Zarr: readers take a chunk that they cannot look up, for whatever reason,
// for the fill value. So what cannot be read has a name and attributes, and only READ gives the
// error.
#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "fs/daemon/log.h"
#include "fs/fuse/file_system.h"
#include "zarrcore/base/printable.h"

namespace zarrfs {
namespace {

// Seconds that the kernel may remember attributes of an inode that stands for something unreadable:
// what can be read has another one.
constexpr double kUnreadableAttributes = 1;

}  // namespace

Result<KnownNode> FileSystem::Know(const std::string& path) {
  auto seen = Refresh(path, check_age_);
  if (seen && seen->node->unreadable() == nullptr) {
    if (store_is_gone_) CheckStore();
    return KnownNode{std::move(*seen), std::nullopt};
  }
  Error error = seen ? *seen->node->unreadable() : seen.error();
  if (error.code == ErrorCode::kWouldBlock) return tl::unexpected(error);
  if (error.code == ErrorCode::kNotFound) {
    NodeRecord* const record = table_.Find(path);
    CurrentNode last = record == nullptr ? CurrentNode{} : table_.LastSeen(*record);
    if (last.node == nullptr) return tl::unexpected(error);
    CheckStore();
    return KnownNode{std::move(last), std::move(error)};
  }
  LogFailure("look-up", error);
  CheckStore();
  const auto record = table_.RecordOf(path);
  if (!record) return Fail(record);
  return KnownNode{table_.LastSeen(**record), std::move(error)};
}

std::optional<Error> FileSystem::CheckStore() {
  const auto root = hierarchy_.Get("", check_age_);
  if (!root && root.error().code == ErrorCode::kWouldBlock) return std::nullopt;
  const Error* const error = root ? (*root)->unreadable() : &root.error();
  if (error == nullptr) {
    if (store_is_gone_.exchange(false)) spdlog::info("{} is back", store_->name());
    return std::nullopt;
  }
  const std::string reason = OneLine(error->message);
  if (!store_is_gone_.exchange(true)) {
    const std::string line =
        fmt::format("{} is gone or cannot be read: reading gives errors until it is back ({})",
                    store_->name(), reason);
    spdlog::error("{}", line);
    errors_.Add(line);
  }
  return *error;
}

std::optional<Error> FileSystem::WhyGone(const Node& array) const {
  if (!options_.immutable && array.freshness.validity().Holds(*store_)) return std::nullopt;
  const auto document = store_->Stat(JoinKey(array.path, array.document));
  if (document) return std::nullopt;
  return document.error();
}

ObjectInfo FileSystem::KnownInfo(const CurrentNode& node) const {
  if (node.node != nullptr) return node.node->folder_info;
  NodeRecord* const record = table_.Find("");
  const CurrentNode root = record == nullptr ? CurrentNode{} : table_.LastSeen(*record);
  ObjectInfo info = root.node != nullptr ? root.node->folder_info : ObjectInfo{};
  info.is_folder = true;
  info.mode = 0555;
  return info;
}

Result<fuse_entry_param> FileSystem::UnreadableChunkEntry(const CurrentNode& node, size_t view,
                                                          uint64_t chunk,
                                                          const Error& error) const {
  if (error.code == ErrorCode::kWouldBlock) return tl::unexpected(error);
  LogFailure("look-up", error);
  const auto& pipeline = node.range->chunks->layout().inner_pipeline;
  uint64_t size = pipeline ? pipeline->encoded_size().value_or(1) : 1;
  const ChunkEncoding& encoding = node.range->views[view].encoding;
  if (encoding.kind == ChunkEncoding::Kind::kDecoded) size = encoding.size;
  if (size > encoding.cut_front + encoding.cut_back) size -= encoding.cut_front + encoding.cut_back;
  ObjectInfo info = KnownInfo(node);
  // Who may not search the folder does not come this far; the others are to open the file.
  info.mode = 0444;
  fuse_entry_param entry{};
  entry.ino = MakeUnreadableId(node.range->views[view].files + chunk);
  entry.generation = generation_;
  entry.attr = FileAttributes(entry.ino, info, std::max<uint64_t>(size, 1), 1);
  // Damage is true of a version of the shard; whatever else it is may have passed in a moment.
  entry.entry_timeout = error.code == ErrorCode::kDamaged ? AbsenceTimeout({}) : kUnreadableTimeout;
  entry.attr_timeout = kUnreadableAttributes;
  return entry;
}

Result<fuse_entry_param> FileSystem::UnreadableDocumentEntry(const CurrentNode& node, size_t view,
                                                             size_t document) const {
  ObjectInfo info = KnownInfo(node);
  info.mode = 0444;
  fuse_entry_param entry{};
  entry.ino = MakeUnreadableId(PositionOf(node.record->DocumentId(view, document, 0)));
  entry.generation = generation_;
  entry.attr = FileAttributes(entry.ino, info, 1, 1);
  entry.entry_timeout = kUnreadableTimeout;
  entry.attr_timeout = kUnreadableAttributes;
  return entry;
}

Result<fuse_entry_param> FileSystem::UnreadableFolderEntry(const KnownNode& known,
                                                           size_t view) const {
  ObjectInfo info = KnownInfo(known.seen);
  if (known.seen.node == nullptr) {
    const auto folder = store_->Stat(known.seen.record->path);
    if (!folder && folder.error().code == ErrorCode::kWouldBlock) return Fail(folder);
    if (folder) info = *folder;
    if (!folder) info.mode = 0;
  }
  fuse_entry_param entry{};
  const bool is_root = known.seen.record->path.empty() && only_view_;
  entry.ino = is_root ? kRootId : known.seen.record->FolderId(view);
  entry.generation = generation_;
  entry.attr = FolderAttributes(entry.ino, info);
  if (info.mode == 0) entry.attr.st_mode = S_IFDIR;  // whatever `umask` says
  entry.attr_timeout = entry.entry_timeout = kUnreadableTimeout;
  return entry;
}

Result<fuse_entry_param> FileSystem::LookupInUnreadable(const KnownNode& known, size_t view,
                                                        const std::string& name) {
  const CurrentNode& node = known.seen;
  const bool is_gone = known.error->code == ErrorCode::kNotFound;
  if (!is_gone) {
    // Which documents there were, or would be in an array: whoever reads one is told.
    static const NodeView kNever;
    const NodeView& shown = node.node != nullptr ? node.node->views[view] : kNever;
    for (size_t d = 0; d < shown.documents.size(); ++d) {
      if (shown.documents[d].name == name) return UnreadableDocumentEntry(node, view, d);
    }
    if (!shown.consolidated.empty() && name == shown.consolidated) {
      return UnreadableDocumentEntry(node, view, kConsolidatedDocument);
    }
    if (shown.documents.empty() && name == AllViews()[view]->ArrayDocumentName()) {
      return UnreadableDocumentEntry(node, view, 0);
    }
  }
  const bool is_group = node.node != nullptr && node.node->group() != nullptr;
  if (node.range != nullptr && !is_group) {
    return LookupChunkPath(node, view, {}, kMaxRank + 1, name, &*known.error);
  }
  // Below a group only what was seen there is known to be a node.
  const std::string path = JoinKey(node.record->path, name);
  NodeRecord* const child = table_.Find(path);
  const CurrentNode below = child == nullptr ? CurrentNode{} : table_.LastSeen(*child);
  if (below.node == nullptr) return tl::unexpected(*known.error);
  return UnreadableFolderEntry(KnownNode{below, known.error}, view);
}

Result<fuse_entry_param> FileSystem::LookupInterrupted(fuse_ino_t parent, const std::string& name) {
  const Error error{ErrorCode::kInterrupted, name + ": interrupted"};
  const Result<Target> target =
      StatusFiles::Has(parent) ? Result<Target>(tl::unexpected(error)) : Resolve(parent);
  if (!target) return Fail(target);
  NodeRecord* const record = target->record != nullptr ? target->record : table_.Find("");
  KnownNode known{record != nullptr ? table_.LastSeen(*record) : CurrentNode{}, error};
  if (known.seen.node == nullptr && target->range == nullptr) return tl::unexpected(error);
  Result<fuse_entry_param> entry = tl::unexpected(error);
  if (IsRootOfMount(*target) && !only_view_) {
    if (const auto view = ViewNumber(name)) entry = UnreadableFolderEntry(known, *view);
  } else if (target->kind == Target::Kind::kChunkFolder) {
    known.seen.range = target->range;
    entry = LookupChunkPath(known.seen, target->view, target->prefix, target->level, name, &error);
  } else {
    entry = LookupInUnreadable(known, IsRootOfMount(*target) ? *only_view_ : target->view, name);
  }
  if (entry) {
    entry->entry_timeout = 0;
    entry->attr_timeout = kUnreadableAttributes;  // else the kernel asks for them, in vain
  }
  return entry;
}

Error FileSystem::WhyUnreadable(const Target& target) {
  const auto known = Know(target.record->path);
  if (!known) return known.error();
  if (known->error && known->error->code != ErrorCode::kNotFound) return *known->error;
  const std::string& path = target.record->path;
  if (known->error) {
    return {ErrorCode::kIo,
            fmt::format("{}: not in the store any more", path.empty() ? "/" : path)};
  }
  if (target.kind == Target::Kind::kChunk) {
    const auto& part = target.range->views[target.view];
    const InnerIndex chunk{target.chunk};
    const auto located =
        target.range->chunks->Locate(chunk, check_age_, /*may_read=*/true, part.sizes());
    if (!located) return located.error();
    if (located->location) {
      const auto size = chunk_reader_.Size(ChunkFile{
          *target.range->chunks, part.encoding, part.encoding_number, chunk, *located->location});
      if (!size) return size.error();
    }
  }
  return {ErrorCode::kStale, fmt::format("{}: can be read again; open it again", path)};
}

}  // namespace zarrfs
