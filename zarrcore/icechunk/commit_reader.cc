#include "zarrcore/icechunk/commit_reader.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "zarrcore/base/printable.h"
#include "zarrcore/icechunk/folder.h"
#include "zarrcore/icechunk/parts.h"

namespace zarrfs {
namespace {

constexpr std::string_view kChunks = "c";

// Parses chunk coordinates such as "0/12", the part of a key below its array. nullopt if a
// component is not a coordinate.
std::optional<std::vector<uint32_t>> ParseCoordinates(std::string_view text) {
  std::vector<uint32_t> coordinates;
  while (!text.empty()) {
    const size_t slash = std::min(text.find('/'), text.size());
    const std::string_view number = text.substr(0, slash);
    uint32_t value = 0;
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), value);
    const bool is_canonical = number == "0" || !number.starts_with('0');
    if (error != std::errc() || end != number.data() + number.size() || !is_canonical) {
      return std::nullopt;
    }
    coordinates.push_back(value);
    if (coordinates.size() > kIcechunkMaxRank) return std::nullopt;
    text.remove_prefix(std::min(slash + 1, text.size()));
  }
  return coordinates;
}

Result<void> AtKey(std::string_view key, const Error& error) {
  const Error shown = IcechunkErrorOfCall(error);
  return Fail(shown.code, "{}: {}", key, shown.message);
}

std::string KeyOf(const IcechunkReference& reference) {
  return "chunks/" + IcechunkIdText(reference.chunk);
}

// kIo unless the object of a native chunk, which has `size` bytes, contains the whole chunk. Offset
// and length are below 2^63, so their sum cannot overflow.
Result<void> CheckHolds(std::string_view key, const IcechunkReference& reference, uint64_t size) {
  return CheckIcechunkPart(key, KeyOf(reference), size, reference.offset + reference.length);
}

tl::unexpected<Error> ErrorOfObject(std::string_view key, const IcechunkReference& reference,
                                    const Error& error) {
  return tl::unexpected(IcechunkErrorOfObject(key, KeyOf(reference), error));
}

}  // namespace

Error IcechunkErrorOfCall(const Error& error) {
  const bool is_fact = error.code != ErrorCode::kDamaged && error.code != ErrorCode::kNotFound;
  return {is_fact ? error.code : ErrorCode::kIo, error.message};
}

Result<ObjectInfo> IcechunkCommitReader::Stat(const IcechunkKey& key) {
  const auto found = Find(key);
  if (!found) return Fail(found);
  const IcechunkSnapshot& snapshot = *key.head->snapshot;
  switch (found->kind) {
    case Found::Kind::kDocument:
      return IcechunkInfoOfPart(snapshot.info(), found->node->document.size(), kIcechunkDocument);
    case Found::Kind::kChunk:
      return InfoOfChunk(key, *found->chunk);
    case Found::Kind::kFolder:
      break;
  }
  return IcechunkInfoOfFolder(snapshot.info());
}

Result<ReadAnswer> IcechunkCommitReader::Read(const IcechunkKey& key, const ByteRange& range,
                                              std::span<std::byte> out) {
  const auto found = Find(key);
  if (!found) return Fail(found);
  const auto& snapshot = key.head->snapshot;
  if (found->kind == Found::Kind::kFolder) {
    return Fail(ErrorCode::kNotFound, "{}: a folder", key.shown);
  }
  if (found->kind == Found::Kind::kChunk) return ReadChunk(key, *found->chunk, range, out);
  const std::string_view bytes = found->node->document;
  return ReadFrom(
      MakePartInMemory(IcechunkInfoOfPart(snapshot->info(), bytes.size(), kIcechunkDocument),
                       std::string(key.shown), snapshot, bytes),
      range, out);
}

Result<std::unique_ptr<FolderStream>> IcechunkCommitReader::OpenFolder(const IcechunkKey& folder) {
  const auto found = Find(folder);
  if (!found) return Fail(found);
  if (found->kind != Found::Kind::kFolder) {
    return Fail(ErrorCode::kNotFound, "{}: a file, not a folder", folder.shown);
  }
  IcechunkFolder::Parts parts;
  if (found->coordinates) {
    auto next = finder_.Next(*found->node, *found->coordinates);
    if (!next) return Fail(AtKey(folder.shown, next.error()));
    parts.coordinates = *std::move(next);
    parts.coordinates_are_folders = found->coordinates->size() + 1 < found->node->rank;
  } else {
    parts.has_nodes = true;
    if (found->node != nullptr) parts.own.push_back({std::string(kIcechunkDocument), false, false});
    const auto has_chunks = found->node == nullptr ? false : HasChunks(*found->node);
    if (!has_chunks) return Fail(AtKey(folder.shown, has_chunks.error()));
    if (*has_chunks) {
      parts.own.push_back({std::string(kChunks), found->node->rank > 0, false});
    }
  }
  std::string prefix(folder.inside);
  if (!prefix.empty()) prefix += '/';
  return std::make_unique<IcechunkFolder>(folder.head->snapshot, std::move(prefix),
                                          std::move(parts));
}

Result<IcechunkPlace> IcechunkCommitReader::PlaceOf(const IcechunkKey& key) {
  const auto found = Find(key);
  if (!found) return Fail(found);
  if (found->kind != Found::Kind::kChunk) {
    return Fail(ErrorCode::kNotFound, "{}: not a chunk", key.shown);
  }
  const IcechunkReference& reference = found->chunk->reference;
  if (reference.kind == IcechunkReference::Kind::kNative) {
    return IcechunkPlace{KeyOf(reference), reference.offset};
  }
  if (reference.kind == IcechunkReference::Kind::kInline) {
    return Fail(ErrorCode::kUnsupported, "{}: stored inline, in a compressed manifest", key.shown);
  }
  const auto chunk = VirtualChunk(key.shown, *found->chunk);
  if (!chunk) return Fail(chunk);
  return Fail(ErrorCode::kUnsupported, "{}: a virtual chunk, {} bytes at {} of {}", key.shown,
              reference.length, reference.offset, Visible(chunk->location));
}

Result<IcechunkCommitReader::Found> IcechunkCommitReader::Find(const IcechunkKey& of) {
  const std::string_view key = of.inside;
  const IcechunkSnapshot& snapshot = *of.head->snapshot;
  const IcechunkNode* node = snapshot.Find(key);
  if (node != nullptr || key.empty() || snapshot.HasBelow(key)) {
    return Found{Found::Kind::kFolder, node};
  }
  const std::string_view folder = FolderOf(key);
  const std::string_view name = folder.empty() ? key : key.substr(folder.size() + 1);
  const IcechunkNode* const parent = snapshot.Find(folder);
  if (parent != nullptr && name == kIcechunkDocument) {
    return Found{Found::Kind::kDocument, parent};
  }
  // Find the nearest ancestor that is a node. The key can exist only if this node is an array.
  std::string_view above = folder;
  node = parent;
  while (node == nullptr && !above.empty()) {
    above = FolderOf(above);
    node = snapshot.Find(above);
  }
  if (node == nullptr || !node->is_array) {
    return Fail(ErrorCode::kNotFound, "{}: not in {} at {}", of.shown, container_->name(),
                IcechunkIdText(snapshot.id()));
  }
  auto found = FindBelow(*node, key.substr(above.empty() ? 0 : above.size() + 1));
  if (!found) return Fail(found.error().code, "{}: {}", of.shown, found.error().message);
  return found;
}

Result<IcechunkCommitReader::Found> IcechunkCommitReader::FindBelow(const IcechunkNode& node,
                                                                    std::string_view rest) {
  const auto absent = [&] { return Fail(ErrorCode::kNotFound, "no manifest names it"); };
  const bool is_chunk = rest == kChunks || rest.starts_with("c/");
  if (!is_chunk) return Fail(ErrorCode::kNotFound, "no key of an array in Icechunk");
  auto coordinates = ParseCoordinates(rest.substr(std::min<size_t>(2, rest.size())));
  if (!coordinates || coordinates->size() > node.rank) return absent();
  if (node.rank > kIcechunkMaxRank) {
    return Fail(ErrorCode::kUnsupported, "an array of {} dimensions, expected at most {}",
                node.rank, kIcechunkMaxRank);
  }
  if (coordinates->size() == node.rank) {
    auto chunk = finder_.Find(node, *coordinates);
    if (!chunk) return tl::unexpected(IcechunkErrorOfCall(chunk.error()));
    if (!*chunk) return absent();
    return Found{Found::Kind::kChunk, &node, std::nullopt, *std::move(*chunk)};
  }
  const auto has = coordinates->empty() ? HasChunks(node) : finder_.HasAny(node, *coordinates);
  if (!has) return tl::unexpected(IcechunkErrorOfCall(has.error()));
  if (!*has) return absent();
  return Found{Found::Kind::kFolder, &node, std::move(coordinates)};
}

Result<bool> IcechunkCommitReader::HasChunks(const IcechunkNode& node) {
  if (!node.is_array) return false;
  return node.rank > 0 ? !node.boxes.empty() : finder_.HasAny(node, {});
}

ObjectInfo IcechunkCommitReader::InfoOfNative(const IcechunkHead& head,
                                              const IcechunkReference& reference,
                                              const ObjectInfo* object) const {
  const std::string what = fmt::format("{} {}", IcechunkIdText(reference.chunk), reference.offset);
  if (object != nullptr && container_->AnswersFast())
    return IcechunkInfoOfPart(*object, reference.length, what);
  ObjectInfo info = head.snapshot->info();
  info.version = {};
  info.version.mtime_ns = info.version.ctime_ns = head.first_ns;
  return IcechunkInfoOfPart(std::move(info), reference.length, what);
}

Result<IcechunkVirtualChunk> IcechunkCommitReader::VirtualChunk(std::string_view key,
                                                                const Chunk& chunk) const {
  auto location = chunk.manifest->LocationOf(chunk.reference);
  if (!location) return Fail(ErrorCode::kIo, "{}: {}", key, location.error().message);
  IcechunkVirtualChunk found{key, *std::move(location), chunk.reference};
  if (!IcechunkContainers::IsNamed(found.location)) return found;
  auto resolved = containers_.Resolve(found.location);
  if (!resolved) return tl::unexpected(ErrorOfVirtualFile(found, resolved.error()));
  found.location = *std::move(resolved);
  return found;
}

Result<ObjectInfo> IcechunkCommitReader::InfoOfChunk(const IcechunkKey& key,
                                                     const Chunk& chunk) const {
  const IcechunkReference& reference = chunk.reference;
  if (reference.kind == IcechunkReference::Kind::kVirtual) {
    const auto of_file = VirtualChunk(key.shown, chunk);
    // If the location cannot be resolved (kUnsupported), the chunk has the size in the reference,
    // and the owner and times of the manifest.
    if (!of_file && of_file.error().code != ErrorCode::kUnsupported) return Fail(of_file);
    auto info = of_file ? virtual_chunks_->Stat(*of_file) : std::nullopt;
    if (!info) return Fail(info);
    if (*info) return **std::move(info);
  }
  if (reference.kind != IcechunkReference::Kind::kNative) {
    return IcechunkInfoOfPart(chunk.manifest->info(), reference.length, "chunk");
  }
  if (!container_->AnswersFast()) return InfoOfNative(*key.head, reference, nullptr);
  const auto object = container_->Stat(KeyOf(reference));
  if (!object) return ErrorOfObject(key.shown, reference, object.error());
  if (auto holds = CheckHolds(key.shown, reference, object->size()); !holds) return Fail(holds);
  return InfoOfNative(*key.head, reference, &*object);
}

Result<ReadAnswer> IcechunkCommitReader::ReadChunk(const IcechunkKey& key, const Chunk& chunk,
                                                   const ByteRange& range,
                                                   std::span<std::byte> out) const {
  const IcechunkReference& reference = chunk.reference;
  if (reference.kind == IcechunkReference::Kind::kVirtual) {
    const auto of_file = VirtualChunk(key.shown, chunk);
    return of_file ? virtual_chunks_->Read(*of_file, range, out) : Fail(of_file);
  }
  if (reference.kind == IcechunkReference::Kind::kInline) {
    return ReadFrom(
        MakePartInMemory(IcechunkInfoOfPart(chunk.manifest->info(), reference.length, "chunk"),
                         std::string(key.shown), chunk.manifest, reference.bytes),
        range, out);
  }
  const ByteRange part = PartAskedFor(range, reference.length, out.size());
  const auto length = static_cast<size_t>(part.length);
  // A read of 0 bytes only opens the object. The caller will read the object next, so send no
  // request now.
  if (length == 0 && !container_->AnswersFast()) {
    auto object =
        MakePartToRead(InfoOfNative(*key.head, reference, nullptr), std::string(key.shown),
                       container_, KeyOf(reference), reference.offset);
    return ReadAnswer{std::move(object), part.offset, 0};
  }
  auto answer =
      container_->Read(KeyOf(reference), ByteRange::At(reference.offset + part.offset, part.length),
                       out.first(length));
  if (!answer) return ErrorOfObject(key.shown, reference, answer.error());
  const ObjectInfo& object = answer->object->info();
  if (auto holds = CheckHolds(key.shown, reference, object.size()); !holds) return Fail(holds);
  ObjectInfo info = InfoOfNative(*key.head, reference, &object);
  return ReadAnswer{MakePartOfObject(std::move(info), std::string(key.shown),
                                     std::move(answer->object), reference.offset),
                    part.offset, length};
}

}  // namespace zarrfs
