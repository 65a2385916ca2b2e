#include "zarrcore/icechunk/icechunk_store.h"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "zarrcore/base/printable.h"
#include "zarrcore/icechunk/chunk_finder.h"
#include "zarrcore/icechunk/snapshot.h"
#include "zarrcore/store/forwarding_store.h"
#include "zarrcore/store/revalidating_cache.h"

namespace zarrfs {
namespace {

constexpr std::string_view kChunks = "c";

// The commit that `at` leads to.
struct Head {
  IcechunkPointer pointer;
  std::shared_ptr<const IcechunkSnapshot> snapshot;
  mutable Freshness freshness;  // set by RevalidatingCache
};
using HeadPtr = std::shared_ptr<const Head>;
using Heads = RevalidatingCache<int, Head>;
using Chunk = IcechunkChunkFinder::Found;

Result<std::shared_ptr<const IcechunkSnapshot>> ReadSnapshot(const Store& container,
                                                             const IcechunkId& id) {
  const std::string key = "snapshots/" + IcechunkIdText(id);
  auto file = ReadIcechunkFile(container, key, IcechunkFileType::kSnapshot);
  if (!file && file.error().code == ErrorCode::kNotFound) {
    return Fail(ErrorCode::kNotFound, "{}: no such snapshot in {}", key, container.name());
  }
  if (!file) return Fail(file);
  return IcechunkSnapshot::Parse(*std::move(file), id);
}

// How the one value of Heads is read.
class HeadLoader final : public Heads::Loader {
 public:
  HeadLoader(const Store& container, const IcechunkAt& at, HeadPtr known)
      : container_(container), at_(at), known_(std::move(known)) {}

  Validity Watch() override {
    if (!at_.moves() || known_ == nullptr) return {};
    return Validity::WatchAllNames(container_, FolderOf(known_->pointer.key));
  }

  Result<Revalidation> Revalidate(const HeadPtr& known) override {
    if (!at_.moves()) return Revalidation::kCurrent;
    const auto info = container_.Stat(known->pointer.key);
    if (info && info->version == known->pointer.info.version) return Revalidation::kCurrent;
    return Revalidation::kUnknown;  // Load() looks
  }

  Result<Heads::Loaded> Load() override {
    auto pointer = FindIcechunkPointer(container_, at_);
    if (!pointer) return Fail(pointer);
    auto head = std::make_shared<Head>();
    head->pointer = *std::move(pointer);
    if (known_ != nullptr && known_->snapshot->id() == head->pointer.snapshot) {
      head->snapshot = known_->snapshot;
      return Heads::Loaded{std::move(head), 1};
    }
    auto snapshot = ReadSnapshot(container_, head->pointer.snapshot);
    if (!snapshot) return Fail(snapshot);
    head->snapshot = *std::move(snapshot);
    return Heads::Loaded{std::move(head), 1};
  }

  Validity ValidityOf(const Head& head, Validity watched) override {
    return head.pointer.info.may_change_elsewhere ? Validity() : watched;
  }
  bool IsRacy(const Head& head) override {
    return at_.moves() && zarrfs::IsRacy(container_, head.pointer.info);
  }

 private:
  const Store& container_;
  const IcechunkAt& at_;
  const HeadPtr known_;
};

// The attributes of a folder, by those of the snapshot that has it.
ObjectInfo InfoOfFolder(const IcechunkSnapshot& snapshot) {
  ObjectInfo info = snapshot.info();
  info.version.size = 0;
  info.version.etag += " folder";
  info.is_folder = true;
  info.mode = (info.mode & 0666U) | (info.mode & 0444U) >> 2;  // who may read it may search it
  return info;
}

// Of bytes that are in a file of the repository.
ObjectInfo InfoOfPart(ObjectInfo file, uint64_t size, std::string_view what) {
  file.version.size = size;
  file.version.etag.append(" ").append(what);
  file.mode &= 0666U;
  return file;
}

// A document or an inline chunk. `owner` keeps `bytes`.
class BytesObject final : public Object {
 public:
  BytesObject(ObjectInfo info, std::string key, std::shared_ptr<const void> owner,
              std::string_view bytes)
      : info_(std::move(info)), key_(std::move(key)), owner_(std::move(owner)), bytes_(bytes) {}

  [[nodiscard]] const ObjectInfo& info() const override { return info_; }
  [[nodiscard]] Result<void> Read(uint64_t offset, std::span<std::byte> out) const override {
    if (offset > bytes_.size() || out.size() > bytes_.size() - offset) {
      return Fail(ErrorCode::kDamaged, "{}: ends early: expected {} bytes at {}, found {} in all",
                  key_, out.size(), offset, bytes_.size());
    }
    if (!out.empty()) std::memcpy(out.data(), bytes_.data() + offset, out.size());
    return {};
  }

 private:
  const ObjectInfo info_;
  const std::string key_;
  const std::shared_ptr<const void> owner_;
  const std::string_view bytes_;
};

// A native chunk: a range of an object of the repository.
class RangeObject final : public Object {
 public:
  RangeObject(ObjectInfo info, std::string key, std::shared_ptr<const Object> whole, uint64_t begin)
      : info_(std::move(info)), key_(std::move(key)), whole_(std::move(whole)), begin_(begin) {}

  [[nodiscard]] const ObjectInfo& info() const override { return info_; }
  [[nodiscard]] Result<void> Read(uint64_t offset, std::span<std::byte> out) const override {
    if (offset > info_.size() || out.size() > info_.size() - offset) {
      return Fail(ErrorCode::kDamaged, "{}: ends early: expected {} bytes at {}, found {} in all",
                  key_, out.size(), offset, info_.size());
    }
    return whole_->Read(begin_ + offset, out);
  }

 private:
  const ObjectInfo info_;
  const std::string key_;
  const std::shared_ptr<const Object> whole_;
  const uint64_t begin_;
};

// What a folder holds: documents and chunks in `own`, coordinates of chunks, and nodes.
class IcechunkFolder final : public FolderStream {
 public:
  struct Parts {
    std::vector<ListEntry> own = {};
    IcechunkChunkFinder::Coordinates coordinates = {};
    bool coordinates_are_folders = false;
    bool has_nodes = false;
  };
  // `prefix`: the folder with its slash, "" for the root.
  IcechunkFolder(std::shared_ptr<const IcechunkSnapshot> snapshot, std::string prefix, Parts parts)
      : snapshot_(std::move(snapshot)), prefix_(std::move(prefix)), parts_(std::move(parts)) {
    if (parts_.has_nodes) node_ = snapshot_->LowerBound(prefix_);
  }

  [[nodiscard]] Result<std::vector<ListEntry>> Next(size_t count) override {
    std::vector<ListEntry> entries;
    while (entries.size() < count && own_ < parts_.own.size()) {
      entries.push_back(parts_.own[own_++]);
    }
    const auto& values = parts_.coordinates.values;
    while (entries.size() < count && value_ < values.size()) {
      entries.push_back({std::to_string(values[value_++]), parts_.coordinates_are_folders, false});
    }
    const auto nodes = snapshot_->nodes();
    while (parts_.has_nodes && entries.size() < count && node_ < nodes.size()) {
      const std::string_view path = nodes[node_].path;
      if (path.size() < prefix_.size()) {  // the folder itself
        ++node_;
        continue;
      }
      if (!path.starts_with(prefix_)) break;
      const std::string_view rest = path.substr(prefix_.size());
      entries.push_back({std::string(rest.substr(0, rest.find('/'))), true, false});
      constexpr char kAfterSlash = '/' + 1;
      node_ = snapshot_->LowerBound(prefix_ + entries.back().name + kAfterSlash);
    }
    return entries;
  }

 private:
  const std::shared_ptr<const IcechunkSnapshot> snapshot_;
  const std::string prefix_;
  const Parts parts_;
  size_t own_ = 0;
  size_t value_ = 0;
  size_t node_ = 0;
};

// Coordinates in a key below an array: "0/12". nullopt if they are none.
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

class IcechunkStore final : public ForwardingStore {
 public:
  IcechunkStore(std::shared_ptr<const Store> container, IcechunkAt at, Age max_age)
      : ForwardingStore(container),
        container_(std::move(container)),
        at_(std::move(at)),
        max_age_(max_age),
        finder_(container_),
        heads_(container_, /*capacity_bytes=*/1, /*splits=*/1) {}

  [[nodiscard]] Result<HeadPtr> Current() const {
    HeadLoader loader(*container_, at_, heads_.Find(0));
    return heads_.Get(0, at_.moves() ? max_age_ : kAnyAge, loader).value;
  }

  std::optional<ObjectInfo> FolderOfKeys() const override { return std::nullopt; }

  [[nodiscard]] Result<ObjectInfo> Stat(std::string_view key) const override {
    const auto found = Find(key);
    if (!found) return Fail(found);
    const IcechunkSnapshot& snapshot = *found->head->snapshot;
    switch (found->kind) {
      case Found::Kind::kDocument:
        return InfoOfPart(snapshot.info(), found->node->document.size(), kIcechunkDocument);
      case Found::Kind::kChunk:
        return InfoOfChunk(key, snapshot, *found->chunk);
      case Found::Kind::kFolder:
        break;
    }
    return InfoOfFolder(snapshot);
  }

  [[nodiscard]] Result<ReadAnswer> Read(std::string_view key, ByteRange range,
                                        std::span<std::byte> out) const override {
    const auto found = Find(key);
    if (!found) return Fail(found);
    const auto& snapshot = found->head->snapshot;
    if (found->kind == Found::Kind::kFolder) {
      return Fail(ErrorCode::kNotFound, "{}: a folder", key);
    }
    if (found->kind == Found::Kind::kChunk)
      return ReadChunk(key, *snapshot, *found->chunk, range, out);
    const std::string_view bytes = found->node->document;
    return ReadBytes(
        std::make_shared<BytesObject>(InfoOfPart(snapshot->info(), bytes.size(), kIcechunkDocument),
                                      std::string(key), snapshot, bytes),
        range, out);
  }

  [[nodiscard]] Result<std::unique_ptr<FolderStream>> OpenFolder(
      std::string_view folder) const override {
    const auto found = Find(folder);
    if (!found) return Fail(found);
    if (found->kind != Found::Kind::kFolder) {
      return Fail(ErrorCode::kNotFound, "{}: a file, not a folder", folder);
    }
    IcechunkFolder::Parts parts;
    if (found->coordinates) {
      auto next = finder_.Next(*found->node, *found->coordinates);
      if (!next) return Fail(AtKey(folder, next.error()));
      parts.coordinates = *std::move(next);
      parts.coordinates_are_folders = found->coordinates->size() + 1 < found->node->rank;
    } else {
      parts.has_nodes = true;
      if (found->node != nullptr)
        parts.own.push_back({std::string(kIcechunkDocument), false, false});
      const auto has_chunks = found->node == nullptr ? false : HasChunks(*found->node);
      if (!has_chunks) return Fail(AtKey(folder, has_chunks.error()));
      if (*has_chunks) {
        parts.own.push_back({std::string(kChunks), found->node->rank > 0, false});
      }
    }
    std::string prefix(folder);
    if (!prefix.empty()) prefix += '/';
    return std::make_unique<IcechunkFolder>(found->head->snapshot, std::move(prefix),
                                            std::move(parts));
  }

  [[nodiscard]] Result<uint64_t> OffsetInFile(std::string_view key) const override {
    return Fail(ErrorCode::kUnsupported, "{}: has no file of this name in an Icechunk repository",
                key);
  }

  // The pointer of a branch is all that changes in a repository; a tag or snapshot never does.
  [[nodiscard]] Result<void> StartWatching(
      ChangeListener listener, std::function<void(std::string_view)> report) const override {
    if (!at_.moves()) return {};
    auto head = Current();
    if (!head) return Fail(head);
    return container_->StartWatching(
        [count = change_count_, key = (*head)->pointer.key,
         listener = std::move(listener)](const Changes& changes) {
          const auto has = [](const std::vector<std::string>& all, std::string_view one) {
            return std::ranges::find(all, one) != all.end();
          };
          if (!changes.all && !has(changes.keys, key) && !has(changes.folders, FolderOf(key))) {
            return;
          }
          ++*count;
          listener({.keys = {}, .folders = {}, .all = true});
        },
        std::move(report));
  }
  [[nodiscard]] uint64_t Watch(std::string_view /*folder*/) const override {
    const uint64_t count = change_count();
    if (!at_.moves() || count == 0) return count;
    const HeadPtr head = heads_.Find(0);
    if (head == nullptr) return 0;
    return container_->WatchAllNames(FolderOf(head->pointer.key)) == 0 ? 0 : count;
  }
  [[nodiscard]] uint64_t WatchAllNames(std::string_view folder) const override {
    return Watch(folder);
  }
  [[nodiscard]] uint64_t change_count() const override {
    if (!at_.moves()) return 1;
    return container_->change_count() == 0 ? 0 : change_count_->load();
  }
  [[nodiscard]] WatchState watch_state() const override {
    return at_.moves() ? container_->watch_state() : WatchState{};
  }

  void CloseIdle() const override {
    finder_.Sweep();
    container_->CloseIdle();
  }

 private:
  struct Found {
    enum class Kind { kFolder, kDocument, kChunk };
    Kind kind = Kind::kFolder;
    HeadPtr head;
    const IcechunkNode* node = nullptr;                     // of `head`; null: only nodes below
    std::optional<std::vector<uint32_t>> coordinates = {};  // of a folder of chunks
    std::optional<Chunk> chunk = {};
  };

  // What is wrong with the repository is no fact about what is in it.
  static Error ErrorOfCall(const Error& error) {
    const bool is_fact = error.code != ErrorCode::kDamaged && error.code != ErrorCode::kNotFound;
    return {is_fact ? error.code : ErrorCode::kIo, error.message};
  }
  static Result<void> AtKey(std::string_view key, const Error& error) {
    const Error shown = ErrorOfCall(error);
    return Fail(shown.code, "{}: {}", key, shown.message);
  }

  [[nodiscard]] Result<Found> Find(std::string_view key) const {
    if (!IsValidKey(key)) return Fail(ErrorCode::kInvalidArgument, "{}: not a key", key);
    auto head = Current();
    if (!head) return tl::unexpected(ErrorOfCall(head.error()));
    const IcechunkSnapshot& snapshot = *(*head)->snapshot;
    const IcechunkNode* node = snapshot.Find(key);
    if (node != nullptr || key.empty() || snapshot.HasBelow(key)) {
      return Found{Found::Kind::kFolder, *std::move(head), node};
    }
    const std::string_view folder = FolderOf(key);
    const std::string_view name = folder.empty() ? key : key.substr(folder.size() + 1);
    const IcechunkNode* const parent = snapshot.Find(folder);
    if (parent != nullptr && name == kIcechunkDocument) {
      return Found{Found::Kind::kDocument, *std::move(head), parent};
    }
    // The nearest node above; only an array has keys below it.
    std::string_view above = folder;
    node = parent;
    while (node == nullptr && !above.empty()) {
      above = FolderOf(above);
      node = snapshot.Find(above);
    }
    if (node == nullptr || !node->is_array) {
      return Fail(ErrorCode::kNotFound, "{}: not in {}", key, Place());
    }
    auto found =
        FindBelow(*std::move(head), *node, key.substr(above.empty() ? 0 : above.size() + 1));
    if (!found) {
      return Fail(found.error().code, "{}: {}", key, found.error().message);
    }
    return found;
  }

  // `rest`: of the key, below the array.
  [[nodiscard]] Result<Found> FindBelow(HeadPtr head, const IcechunkNode& node,
                                        std::string_view rest) const {
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
      if (!chunk) return tl::unexpected(ErrorOfCall(chunk.error()));
      if (!*chunk) return absent();
      return Found{Found::Kind::kChunk, std::move(head), &node, std::nullopt, *std::move(*chunk)};
    }
    const auto has = coordinates->empty() ? HasChunks(node) : finder_.HasAny(node, *coordinates);
    if (!has) return tl::unexpected(ErrorOfCall(has.error()));
    if (!*has) return absent();
    return Found{Found::Kind::kFolder, std::move(head), &node, std::move(coordinates)};
  }

  // Whether the array has a `c`. (An array with dimensions has one once a snapshot names a manifest
  // of it, which is known without reading that.)
  [[nodiscard]] Result<bool> HasChunks(const IcechunkNode& node) const {
    if (!node.is_array) return false;
    return node.rank > 0 ? !node.boxes.empty() : finder_.HasAny(node, {});
  }

  static std::string KeyOf(const IcechunkReference& reference) {
    return "chunks/" + IcechunkIdText(reference.chunk);
  }

  // By what the object says, or, where each question is a request, by the reference alone.
  [[nodiscard]] ObjectInfo InfoOfNative(const IcechunkSnapshot& snapshot,
                                        const IcechunkReference& reference,
                                        const ObjectInfo* object) const {
    const std::string what =
        fmt::format("{} {}", IcechunkIdText(reference.chunk), reference.offset);
    if (object != nullptr && AnswersFast()) return InfoOfPart(*object, reference.length, what);
    ObjectInfo info = snapshot.info();
    info.version = {};
    info.version.mtime_ns = info.version.ctime_ns = snapshot.time_ns();
    return InfoOfPart(std::move(info), reference.length, what);
  }

  static Result<void> CheckHolds(std::string_view key, const IcechunkReference& reference,
                                 uint64_t size) {
    const uint64_t end = reference.offset + reference.length;  // both below 2^63
    if (size >= end) return {};
    return Fail(ErrorCode::kIo, "{}: {} ends early: expected {} bytes, found {}", key,
                KeyOf(reference), end, size);
  }

  static tl::unexpected<Error> ErrorOfObject(std::string_view key,
                                             const IcechunkReference& reference,
                                             const Error& error) {
    if (error.code == ErrorCode::kNotFound) {
      return Fail(ErrorCode::kIo,
                  "{}: its object {} is missing in the repository (collected as garbage, or not "
                  "copied)",
                  key, KeyOf(reference));
    }
    return Fail(error.code, "{}: {}", key, error.message);
  }

  [[nodiscard]] Result<ObjectInfo> InfoOfChunk(std::string_view key,
                                               const IcechunkSnapshot& snapshot,
                                               const Chunk& chunk) const {
    const IcechunkReference& reference = chunk.reference;
    if (reference.kind != IcechunkReference::Kind::kNative) {
      return InfoOfPart(chunk.manifest->info(), reference.length, "chunk");
    }
    if (!AnswersFast()) return InfoOfNative(snapshot, reference, nullptr);
    const auto object = container_->Stat(KeyOf(reference));
    if (!object) return ErrorOfObject(key, reference, object.error());
    if (auto holds = CheckHolds(key, reference, object->size()); !holds) return Fail(holds);
    return InfoOfNative(snapshot, reference, &*object);
  }

  // The part of an object of `size` bytes that is asked for, at most `room`.
  static ByteRange Clip(const ByteRange& range, uint64_t size, size_t room) {
    const uint64_t offset =
        range.from_end ? size - std::min(size, range.length) : std::min(size, range.offset);
    return ByteRange::At(offset, std::min({range.length, size - offset, uint64_t{room}}));
  }

  static Result<ReadAnswer> ReadBytes(std::shared_ptr<const Object> object, const ByteRange& range,
                                      std::span<std::byte> out) {
    const ByteRange part = Clip(range, object->info().size(), out.size());
    const auto length = static_cast<size_t>(part.length);
    if (auto read = object->Read(part.offset, out.first(length)); !read) return Fail(read);
    return ReadAnswer{std::move(object), part.offset, length};
  }

  [[nodiscard]] Result<ReadAnswer> ReadChunk(std::string_view key, const IcechunkSnapshot& snapshot,
                                             const Chunk& chunk, const ByteRange& range,
                                             std::span<std::byte> out) const {
    const IcechunkReference& reference = chunk.reference;
    if (reference.kind == IcechunkReference::Kind::kVirtual) {
      return Fail(ErrorCode::kUnsupported,
                  "{}: a virtual chunk, {} bytes at {} of {}: zarrfs reads native and inline "
                  "chunks of Icechunk",
                  key, reference.length, reference.offset,
                  reference.is_compressed ? "another file" : AsciiExcerpt(reference.bytes));
    }
    if (reference.kind == IcechunkReference::Kind::kInline) {
      return ReadBytes(std::make_shared<BytesObject>(
                           InfoOfPart(chunk.manifest->info(), reference.length, "chunk"),
                           std::string(key), chunk.manifest, reference.bytes),
                       range, out);
    }
    const ByteRange part = Clip(range, reference.length, out.size());
    const auto length = static_cast<size_t>(part.length);
    auto answer = container_->Read(KeyOf(reference),
                                   ByteRange::At(reference.offset + part.offset, part.length),
                                   out.first(length));
    if (!answer) return ErrorOfObject(key, reference, answer.error());
    const ObjectInfo& object = answer->object->info();
    if (auto holds = CheckHolds(key, reference, object.size()); !holds) return Fail(holds);
    ObjectInfo info = InfoOfNative(snapshot, reference, &object);
    return ReadAnswer{std::make_shared<RangeObject>(std::move(info), std::string(key),
                                                    std::move(answer->object), reference.offset),
                      part.offset, length};
  }

  [[nodiscard]] std::string Place() const { return fmt::format("{} at {}", name(), at_.Text()); }

  const std::shared_ptr<const Store> container_;
  const IcechunkAt at_;
  const Age max_age_;
  const std::shared_ptr<std::atomic<uint64_t>> change_count_ =
      std::make_shared<std::atomic<uint64_t>>(1);
  mutable IcechunkChunkFinder finder_;
  mutable Heads heads_;
};

}  // namespace

Result<std::shared_ptr<Store>> OpenIcechunkStore(std::shared_ptr<const Store> container,
                                                 IcechunkAt at, Age max_age) {
  auto store = std::make_shared<IcechunkStore>(std::move(container), std::move(at), max_age);
  if (const auto head = store->Current(); !head) return Fail(head);
  return store;
}

}  // namespace zarrfs
