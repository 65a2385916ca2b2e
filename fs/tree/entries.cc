#include "fs/tree/entries.h"

#include <algorithm>
#include <utility>

namespace zarrfs {
namespace {

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

// Returns the owner, permissions and times of a document. `with_attributes`: the document repeats
// .zattrs, so it must not have more permissions than .zattrs.
ObjectInfo InfoOfDocument(const Node& node, bool with_attributes) {
  ObjectInfo info = node.info;
  if (info.is_folder) info.mode &= ~0111u;
  if (with_attributes) info.mode &= node.attributes_mode;
  return info;
}

// Returns the size shown for an unreadable chunk file: the exact size if all chunk files have the
// same size, otherwise one byte, so readers send a READ.
uint64_t SizeOfUnreadable(const ArrayRange& range, size_t view) {
  const auto& pipeline = range.chunks->layout().inner_pipeline;
  uint64_t size = pipeline ? pipeline->encoded_size().value_or(1) : 1;
  const ChunkEncoding& encoding = range.views[view].encoding;
  if (encoding.kind == ChunkEncoding::Kind::kDecoded) size = encoding.size;
  const uint64_t cut = encoding.cut_front + encoding.cut_back;
  if (size > cut) size -= cut;
  return std::max<uint64_t>(size, 1);
}

}  // namespace

Entries::Entries(const TreeOptions& options, Nodes& nodes, const Contents& contents,
                 AssembledFiles& files, const IdJournal& journal, const Timeouts& timeouts,
                 FailureLog& failures)
    : options_(options),
      nodes_(nodes),
      contents_(contents),
      files_(files),
      timeouts_(timeouts),
      failures_(failures),
      generation_(journal.generation()) {}

Entry Entries::MakeFile(FileKind kind, NodeId id, uint32_t epoch, const ObjectInfo& info,
                        uint64_t size, uint32_t links) const {
  Entry entry;
  entry.id = id;
  entry.kind = kind;
  entry.generation = generation_ + epoch / kEpochs;
  entry.attribute_timeout = Timeouts::kForever;
  struct stat& st = entry.attributes;
  st.st_ino = id;
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
  return entry;
}

Entry Entries::MakeFolder(NodeId id, const ObjectInfo& info, double timeout) const {
  Entry entry = MakeFile(FileKind::kNone, id, 0, info, 0);
  entry.attributes.st_mode = S_IFDIR | (info.mode & 0777 & ~0222u);
  if (options_.umask) entry.attributes.st_mode = S_IFDIR | (0777 & ~*options_.umask & ~0222u);
  entry.name_timeout = entry.attribute_timeout = timeout;
  return entry;
}

Entry Entries::MakeFolder(NodeId id, const Node& node) const {
  Entry entry = MakeFolder(id, node.folder_info, timeouts_.Node(node));
  SetChunkTimes(node.chunks.get(), node.folder_info, entry);
  return entry;
}

void Entries::SetChunkTimes(const ChunkSource* chunks, const ObjectInfo& folder,
                            Entry& entry) const {
  // With the option `immutable`, the times of a folder do not follow changes of its chunks.
  if (options_.immutable || chunks == nullptr) return;
  if (chunks->changed_ns() > folder.version.mtime_ns) {
    entry.attributes.st_mtim = entry.attributes.st_ctim = ToTimespec(chunks->changed_ns());
  }
}

Entry Entries::MakeFile(const CurrentNode& node, size_t view, size_t document,
                        const MadeDocument& made) const {
  const uint32_t epoch = contents_.made_documents().Observe(
      node.record->DocumentId(view, document, 0), made.text_number);
  ObjectInfo info = InfoOfDocument(*node.node, /*with_attributes=*/true);
  info.version = made.version;
  return MakeFile(FileKind::kMadeDocument, node.record->DocumentId(view, document, epoch), epoch,
                  info, made.size);
}

Result<Entry> Entries::Root() const {
  const auto root = nodes_.Know("");
  if (!root) return Fail(root);
  if (!root->error) return MakeFolder(kRootId, *root->current.node);
  auto entry = UnreadableFolder(*root, 0);
  if (entry) entry->attributes.st_ino = entry->id = kRootId;
  return entry;
}

Entry Entries::RootAsLastSeen() const {
  return MakeFolder(kRootId, nodes_.InfoOf(nodes_.LastSeen("")), Timeouts::kUnreadableName);
}

Entry Entries::Folder(const CurrentNode& node, size_t view) const {
  return MakeFolder(nodes_.FolderId(*node.record, view), *node.node);
}

Entry Entries::Folder(const ListedNode& node, size_t view) const {
  const ObjectInfo& folder = node.outline->folder_info;
  Entry entry =
      MakeFolder(nodes_.FolderId(*node.record, view), folder, timeouts_.Node(*node.outline));
  const NodePtr known = nodes_.table().Held(*node.record);
  if (known != nullptr) SetChunkTimes(known->chunks.get(), folder, entry);
  return entry;
}

Entry Entries::FolderOrFile(const CurrentNode& node, size_t view) const {
  return node.node->is_file ? StoredFile(node, view) : Folder(node, view);
}

Entry Entries::StoredFile(const CurrentNode& node, size_t view) const {
  const uint32_t epoch = node.document_epoch;
  Entry entry =
      MakeFile(FileKind::kStoredFile, node.record->DocumentId(view, kStoredFileDocument, epoch),
               epoch, node.node->info, node.node->info.size());
  entry.name_timeout = timeouts_.Node(*node.node);
  return entry;
}

Entry Entries::MakeFile(NodeId id, uint32_t epoch, size_t document,
                        const AssembledFiles::Version& version) const {
  ObjectInfo info = version.file->info;
  for (const NodePtr& array : version.file->arrays) {
    const int64_t changed_ns = array->chunks->changed_ns();
    if (options_.immutable || changed_ns <= info.version.mtime_ns) continue;
    info.version.mtime_ns = info.version.ctime_ns = changed_ns;
  }
  // Any source of the file may have changed, so name_timeout stays 0 and the name is looked up each
  // time.
  const zarrfs::AssembledFile& file = version.file->file;
  return MakeFile(FileKind::kAssembledFile, id, epoch, info,
                  document == kTextDocument ? file.document.size() : file.size);
}

Result<Entry> Entries::AssembledFile(const CurrentNode& node, size_t view, size_t document) const {
  const auto version = files_.Current(node, view);
  if (!version && version.error().code == ErrorCode::kWouldBlock) return Fail(version);
  if (!version) {
    failures_.OnFailure("look-up", version.error());
    return UnreadableDocument(node, view, document);
  }
  if (!HasFiles(view) && version->file->file.document.empty()) {
    return Fail(ErrorCode::kNotFound, "{}: the strings of the array are not shown",
                node.node->path);
  }
  const uint32_t epoch = contents_.made_documents().Observe(
      node.record->DocumentId(view, VersionedDocument(document), 0), version->number);
  return MakeFile(node.record->DocumentId(view, document, epoch), epoch, document, *version);
}

Result<Entry> Entries::FileAsOf(const Target& target) const {
  const auto version = contents_.VersionOf(target);
  if (!version) return Fail(version);
  return MakeFile(target.record->DocumentId(target.view, target.document, target.epoch),
                  target.epoch, target.document, *version);
}

Result<Entry> Entries::Document(const CurrentNode& node, size_t view, size_t document) const {
  const NodeView& shown = node.node->views[view];
  const bool is_shown = document < shown.documents.size();
  switch (KindOfDocument(node.node->path, view, document)) {
    case FileKind::kAssembledFile:
      if (HasFiles(view)) return AssembledFile(node, view, 0);
      if (shown.has_texts) return AssembledFile(node, view, document);
      break;
    case FileKind::kMadeDocument:
      if (document == kConsolidatedDocument && !shown.consolidated.empty()) {
        return Consolidated(node, view);
      }
      if (is_shown) return SharedDocument(node, view);
      break;
    case FileKind::kStoredFile:
      if (node.node->is_file) return StoredFile(node, view);
      break;
    default:
      if (is_shown) return PlainDocument(node, view, document);
  }
  return Fail(ErrorCode::kNotFound, "{}: no such document", node.node->path);
}

Entry Entries::PlainDocument(const CurrentNode& node, size_t view, size_t document) const {
  const zarrfs::Document& shown = node.node->views[view].documents[document];
  const bool with_attributes = shown.name != kZarray && shown.name != kZgroup;
  Entry entry = MakeFile(
      FileKind::kDocument, node.record->DocumentId(view, document, node.document_epoch),
      node.document_epoch, InfoOfDocument(*node.node, with_attributes), shown.bytes.size());
  entry.name_timeout = timeouts_.Node(*node.node);
  return entry;
}

Result<Entry> Entries::Consolidated(const CurrentNode& node, size_t view) const {
  const auto consolidated = nodes_.consolidated().Get(node.node, view, nodes_.check_age());
  if (!consolidated && consolidated.error().code == ErrorCode::kWouldBlock) {
    return Fail(consolidated);
  }
  if (consolidated && !(*consolidated)->is_too_large) {
    const zarrfs::Consolidated& document = **consolidated;
    // Readers of consolidated metadata look up only chunks. So the nodes in a new document are
    // recorded here, as if they had been looked up.
    const NodeId first = node.record->DocumentId(view, kConsolidatedDocument, 0);
    if (!contents_.made_documents().Known(first, document.text_number)) {
      for (const std::string& path : document.paths) (void)nodes_.Refresh(path, kAnyAge);
    }
    Entry entry = MakeFile(node, view, kConsolidatedDocument, document);
    entry.name_timeout = timeouts_.Name(document.version.ctime_ns, document.freshness.validity());
    return entry;
  }
  // Without the consolidated document, readers look up each node, and find the unreadable one.
  if (!consolidated) failures_.OnFailure("consolidated metadata", consolidated.error());
  const NodeView& shown = node.node->views[view];
  const auto plain =
      std::ranges::find(shown.documents, shown.consolidated, &zarrfs::Document::name);
  if (plain == shown.documents.end()) {
    return Fail(ErrorCode::kNotFound, "{}: no consolidated metadata", node.node->path);
  }
  auto entry = Document(node, view, static_cast<size_t>(plain - shown.documents.begin()));
  if (entry && !consolidated) entry->name_timeout = Timeouts::kUnreadableName;
  return entry;
}

Result<Entry> Entries::SharedDocument(const CurrentNode& node, size_t view) const {
  const auto shared = nodes_.shared().Get(node.node, view, nodes_.check_age());
  if (!shared && shared.error().code == ErrorCode::kWouldBlock) return Fail(shared);
  if (!shared) {
    failures_.OnFailure("look-up", shared.error());
    return UnreadableDocument(node, view, kSharedDocument);
  }
  Entry entry = MakeFile(node, view, kSharedDocument, shared->value);
  entry.name_timeout = std::min(timeouts_.Node(*node.node),
                                timeouts_.Name(shared->value.version.ctime_ns, shared->validity));
  return entry;
}

Result<Entry> Entries::Chunk(const ChunkName& chunk, const ChunkLocation& location,
                             Validity validity) const {
  const ArrayRange& range = *chunk.node.range;
  auto entry = Chunk(range, chunk.view, chunk.chunk, location, range.ObserveEpoch(location));
  if (entry) {
    entry->name_timeout = std::min(timeouts_.Name(location.shard->info.version.ctime_ns, validity),
                                   timeouts_.Node(*chunk.node.node));
  }
  return entry;
}

Result<Entry> Entries::Chunk(const ArrayRange& range, size_t view, InnerIndex chunk,
                             const ChunkLocation& location, uint32_t epoch) const {
  const auto size = contents_.SizeOf(range, view, chunk, location);
  if (!size) return Fail(size);
  const auto& part = range.views[view];
  return MakeFile(FileKind::kStoredChunk, MakeId(range.PositionOf(view, chunk), epoch), epoch,
                  location.shard->info, *size, part.links);
}

Result<Entry> Entries::FillChunk(const ChunkName& chunk, Validity validity) const {
  const auto size = chunk.part().fill_chunk->Size();
  if (!size) return Fail(size);
  const Node* const node = chunk.node.node.get();
  ObjectInfo info = node != nullptr ? node->info : nodes_.InfoOf(chunk.node);
  info.mode &= ~0111u;
  Entry entry = MakeFile(FileKind::kFillChunk, MakeFillId(chunk.position()), 0, info, *size);
  entry.attribute_timeout = node != nullptr ? timeouts_.Node(*node) : Timeouts::kUnreadableName;
  entry.name_timeout = std::min(timeouts_.Absence(validity), entry.attribute_timeout);
  return entry;
}

Entry Entries::ChunkFolder(const CurrentNode& node, size_t view, std::span<const uint64_t> prefix,
                           Validity validity) const {
  const NodeId id = node.range->FolderId(view, prefix);
  if (node.node == nullptr || node.node->unreadable() != nullptr) {
    return MakeFolder(id, nodes_.InfoOf(node), Timeouts::kUnreadableName);
  }
  Entry entry = MakeFolder(id, *node.node);
  entry.name_timeout =
      std::min(timeouts_.Name(node.node->info.version.ctime_ns, validity), entry.attribute_timeout);
  return entry;
}

Result<Entry> Entries::UnreadableChunk(const ChunkName& chunk, const Error& error) const {
  if (error.code == ErrorCode::kWouldBlock) return tl::unexpected(error);
  failures_.OnFailure("look-up", error);
  ObjectInfo info = nodes_.InfoOf(chunk.node);
  // Users without search permission on the folder cannot reach the file anyway. Everyone else must
  // be able to open it.
  info.mode = 0444;
  Entry entry = MakeFile(FileKind::kUnreadable, MakeUnreadableId(chunk.position()), 0, info,
                         SizeOfUnreadable(*chunk.node.range, chunk.view));
  // A damaged object stays damaged until it is replaced. Other errors may be temporary.
  entry.name_timeout =
      error.code == ErrorCode::kDamaged ? timeouts_.Absence({}) : Timeouts::kUnreadableName;
  entry.attribute_timeout = Timeouts::kUnreadableAttributes;
  return entry;
}

Entry Entries::UnreadableDocument(const CurrentNode& node, size_t view, size_t document) const {
  ObjectInfo info = nodes_.InfoOf(node);
  info.mode = 0444;
  Entry entry = MakeFile(FileKind::kUnreadable,
                         MakeUnreadableId(PositionOf(node.record->DocumentId(view, document, 0))),
                         0, info, 1);
  entry.name_timeout = Timeouts::kUnreadableName;
  entry.attribute_timeout = Timeouts::kUnreadableAttributes;
  return entry;
}

Result<Entry> Entries::UnreadableFolder(const KnownNode& known, size_t view) const {
  const CurrentNode& node = known.current;
  ObjectInfo info = nodes_.InfoOf(node);
  if (node.node == nullptr) {
    const auto folder = nodes_.store().Stat(node.record->path);
    if (!folder && folder.error().code == ErrorCode::kWouldBlock) return Fail(folder);
    if (folder) info = *folder;
    if (!folder) info.mode = 0;
  }
  Entry entry = MakeFolder(nodes_.FolderId(*node.record, view), info, Timeouts::kUnreadableName);
  // With unknown permissions, the folder gets none, even if the option `umask` is set.
  if (info.mode == 0) entry.attributes.st_mode = S_IFDIR;
  return entry;
}

Entry Entries::StatusFolder() const {
  return MakeFolder(StatusFiles::kFolderId, nodes_.InfoOf(nodes_.LastSeen("")), Timeouts::kForever);
}

Entry Entries::StatusFile(const StatusFiles::Snapshot& file) const {
  ObjectInfo info = nodes_.InfoOf(nodes_.LastSeen(""));
  info.mode &= ~0111u;
  info.version.mtime_ns = info.version.ctime_ns = file.made_ns;
  return MakeFile(FileKind::kNone, file.id, 0, info,
                  // The name_timeout of 0 makes the kernel look up the name each time.
                  file.text->size());
}

}  // namespace zarrfs
