#include "fs/tree/contents.h"

#include <algorithm>
#include <utility>

#include "zarrcore/base/mutex.h"

namespace zarrfs {
namespace {

ChunkFile ChunkFileOf(const ArrayRange& range, size_t view, InnerIndex chunk,
                      const ChunkLocation& location) {
  const auto& part = range.views[view];
  return {*range.chunks, part.encoding, part.encoding_number, chunk, location};
}

// Returns a predicate that is true if an epoch matches the target's inode. An inode contains only
// the epoch modulo kEpochs.
auto IsEpochOf(const Target& target) {
  return [&target](uint32_t epoch) { return EpochOf(MakeId(0, epoch)) == target.epoch; };
}

FileBytes BytesOf(const std::shared_ptr<const std::string>& text, uint64_t offset, size_t most) {
  const auto bytes = std::as_bytes(std::span(*text));
  const size_t from = std::min<uint64_t>(offset, bytes.size());
  return {bytes.subspan(from, std::min(most, bytes.size() - from)), text, {}};
}

tl::unexpected<Error> Replaced(std::string_view key) {
  return Fail(ErrorCode::kStale, "{}: replaced since it was opened", key);
}

}  // namespace

Result<ChunkLocation> Contents::Locate(const Target& target) const {
  const ArrayRange& range = *target.range;
  const ChunkSource& chunks = *range.chunks;
  const auto is_it = IsEpochOf(target);
  const Sizes sizes = range.views[target.view].sizes();
  auto found = chunks.Locate(target.chunk, kAnyAge, /*may_read=*/true, sizes);
  if (found && found->location) {
    const ChunkLocation& location = *found->location;
    const auto epoch = range.KnownEpoch(location);
    if (epoch && is_it(*epoch)) return std::move(*found->location);
  }
  if (!found && found.error().code == ErrorCode::kWouldBlock) return Fail(found);
  const OuterIndex outer = chunks.OuterOf(target.chunk);
  const auto old = OpenEarlier(target, outer);
  if (!old) return Fail(old);
  if (*old != nullptr) {
    auto before = chunks.LocateIn(*old, target.chunk, sizes);
    if (!before) return Fail(before);
    if (*before) return std::move(**before);
  }
  if (!found) return Fail(found);
  return Replaced(chunks.ObjectKey(outer));
}

Result<OpenShardPtr> Contents::OpenEarlier(const Target& target, OuterIndex outer) const {
  const ChunkSource& chunks = *target.range->chunks;
  const auto version = target.range->epochs->VersionOf(ToNumber(outer), target.epoch);
  if (!version) return nullptr;
  const auto now = SupersededShards::Clock::now();
  if (auto kept = superseded_.Get(chunks.id(), outer, version->fingerprint, now)) return kept;
  if (version->step == 0) return nullptr;
  auto again = chunks.OpenAsOf(outer, version->step);
  if (!again && again.error().code == ErrorCode::kNotFound) return nullptr;
  if (!again) return again;
  if ((*again)->fingerprint != version->fingerprint) return nullptr;
  superseded_.Put(chunks.id(), outer, *again, now);
  return again;
}

Result<uint64_t> Contents::SizeOf(const ArrayRange& range, size_t view, InnerIndex chunk,
                                  const ChunkLocation& location) const {
  return chunk_reader_.Size(ChunkFileOf(range, view, chunk, location));
}

Result<FileBytes> Contents::ReadChunk(const ArrayRange& range, size_t view, InnerIndex chunk,
                                      const ChunkLocation& location, uint64_t offset,
                                      std::span<std::byte> buffer) const {
  auto piece = chunk_reader_.Read(ChunkFileOf(range, view, chunk, location), offset, buffer);
  if (!piece) return Fail(piece);
  return FileBytes{piece->bytes, std::move(piece->owner), {}};
}

Result<FileBytes> Contents::ReadStoredChunk(const Target& target, uint64_t offset,
                                            std::span<std::byte> buffer) const {
  const auto location = Locate(target);
  if (!location) return Fail(location);
  auto piece = ReadChunk(*target.range, target.view, target.chunk, *location, offset, buffer);
  if (piece) {
    piece->location = *location;
  } else if (piece.error().code == ErrorCode::kStale) {
    target.range->chunks->Forget(location->outer);
  }
  return piece;
}

Result<FileBytes> Contents::Read(const Target& target, uint64_t offset,
                                 std::span<std::byte> buffer) const {
  switch (target.file) {
    case FileKind::kStoredChunk:
      return ReadStoredChunk(target, offset, buffer);
    case FileKind::kFillChunk: {
      const auto length = target.range->views[target.view].fill_chunk->Read(offset, buffer);
      if (!length) return Fail(length);
      return FileBytes{buffer.first(*length), nullptr, {}};
    }
    case FileKind::kDocument:
      return ReadDocument(target, offset, buffer.size());
    case FileKind::kMadeDocument: {
      const auto text = MadeTextOf(target);
      if (!text) return Fail(text);
      return BytesOf(*text, offset, buffer.size());
    }
    case FileKind::kAssembledFile:
      return ReadAssembledFile(target, offset, buffer);
    case FileKind::kStoredFile:
      return ReadStoredFile(target, offset, buffer);
    case FileKind::kUnreadable:
      return tl::unexpected(WhyUnreadable(target));
    case FileKind::kNone:
      break;
  }
  return Fail(ErrorCode::kInvalidArgument, "this inode is not a file");
}

Error Contents::ErrorOfRead(Error error) {
  const bool means_absent =
      error.code == ErrorCode::kNotFound || error.code == ErrorCode::kNotADirectory;
  if (means_absent) error.code = ErrorCode::kIo;
  return error;
}

Result<FileBytes> Contents::ReadDocument(const Target& target, uint64_t offset, size_t most) const {
  const auto node = NodeOf(target);
  if (!node) return Fail(node);
  const auto& documents = (*node)->views[target.view].documents;
  if (target.document >= documents.size()) return Replaced(target.record->path);
  return BytesOf({*node, &documents[target.document].bytes}, offset, most);
}

Result<FileBytes> Contents::ReadAssembledFile(const Target& target, uint64_t offset,
                                              std::span<std::byte> buffer) const {
  const auto version = VersionOf(target);
  if (!version) return Fail(version);
  if (target.document == kTextDocument) {
    return BytesOf({version->file, &version->file->file.document}, offset, buffer.size());
  }
  auto piece = assembled_reader_.Read(*version, offset, buffer);
  if (!piece) return Fail(piece);
  return FileBytes{piece->bytes, std::move(piece->owner), {}};
}

Result<AssembledFiles::Version> Contents::VersionOf(const Target& target) const {
  const NodeRecord& record = *target.record;
  const auto made = made_documents_.VersionOf(
      record.DocumentId(target.view, VersionedDocument(target.document), 0), target.epoch);
  if (!made) return Replaced(record.path);
  return files_.Get(record, target.view, made->fingerprint);
}

Result<std::shared_ptr<const std::string>> Contents::MadeTextOf(const Target& target) const {
  const NodeRecord& record = *target.record;
  const auto made =
      made_documents_.VersionOf(record.DocumentId(target.view, target.document, 0), target.epoch);
  if (!made) return Replaced(record.path);
  const auto node = nodes_.hierarchy().Get(record.path, kAnyAge);
  if (!node) return Fail(node);
  return target.document == kConsolidatedDocument
             ? nodes_.consolidated().Text(*node, target.view, made->fingerprint)
             : nodes_.shared().Text(*node, target.view, made->fingerprint);
}

Result<NodePtr> Contents::NodeOf(const Target& target) const {
  const auto is_it = IsEpochOf(target);
  NodeRecord& record = *target.record;
  NodePtr then;  // the node as it was in the version that the inode represents
  bool is_current = false;
  {
    const MutexLock lock(record.mutex);
    is_current = is_it(record.document_epoch);
    if (is_current) then = record.node;
    for (const auto& [epoch, past] : record.past_documents) {
      if (is_it(epoch)) then = past;
    }
  }
  if (then == nullptr && is_current) {
    const auto current = nodes_.Refresh(record.path, kAnyAge);
    if (!current) return Fail(current);
    if (is_it(current->document_epoch)) then = current->node;
  }
  if (then == nullptr) return Replaced(record.path);
  return then;
}

Result<FileBytes> Contents::ReadStoredFile(const Target& target, uint64_t offset,
                                           std::span<std::byte> buffer) const {
  const auto node = NodeOf(target);
  if (!node) return Fail(node);
  const Node& file = **node;
  if (!file.is_file) return Replaced(file.path);
  const Version& version = file.info.version;
  if (offset >= version.size) return FileBytes{};
  buffer = buffer.first(std::min<uint64_t>(buffer.size(), version.size - offset));
  const auto read = nodes_.store().Read(file.path, ByteRange::At(offset, buffer.size()), buffer);
  if (!read) return Fail(read);
  if (read->object->info().version != version || read->length != buffer.size()) {
    return Replaced(file.path);
  }
  return FileBytes{buffer, nullptr, {}};
}

Error Contents::WhyUnreadable(const Target& target) const {
  const std::string& path = target.record->path;
  const auto known = nodes_.Know(path);
  if (!known) return known.error();
  if (known->error && known->error->code != ErrorCode::kNotFound) return *known->error;
  if (known->error) {
    return {ErrorCode::kIo, fmt::format("{}: no longer in the store", path.empty() ? "/" : path)};
  }
  if (auto why = WhyUnreadableIn(known->current, target)) return *std::move(why);
  return {ErrorCode::kStale, fmt::format("{}: readable again, so the file must be reopened", path)};
}

std::optional<Error> Contents::WhyUnreadableIn(const CurrentNode& node,
                                               const Target& target) const {
  const size_t view = target.view;
  if (target.kind == Target::Kind::kDocument) {
    const bool has_files = HasFiles(view) || node.node->views[view].has_texts;
    const FileKind kind = KindOfDocument(target.record->path, view, target.document);
    if (kind == FileKind::kMadeDocument && target.document == kSharedDocument) {
      const auto made = nodes_.shared().Get(node.node, view, nodes_.check_age());
      return made ? std::nullopt : std::optional(made.error());
    }
    if (kind != FileKind::kAssembledFile || !has_files) return std::nullopt;
    const auto file = files_.Current(node, view);
    return file ? std::nullopt : std::optional(file.error());
  }
  const auto found =
      target.range->chunks->Locate(target.chunk, nodes_.check_age(),
                                   /*may_read=*/true, target.range->views[view].sizes());
  if (!found) return found.error();
  if (!found->location) return std::nullopt;
  const auto size = SizeOf(*target.range, view, target.chunk, *found->location);
  return size ? std::nullopt : std::optional(size.error());
}

}  // namespace zarrfs
