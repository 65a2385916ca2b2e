#include "zarrcore/icechunk/icechunk_store.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "zarrcore/base/printable.h"
#include "zarrcore/icechunk/chunk_finder.h"
#include "zarrcore/icechunk/differences.h"
#include "zarrcore/icechunk/folder.h"
#include "zarrcore/icechunk/follower.h"
#include "zarrcore/icechunk/head.h"
#include "zarrcore/icechunk/parts.h"
#include "zarrcore/icechunk/snapshot.h"
#include "zarrcore/store/forwarding_store.h"
#include "zarrcore/store/revalidating_cache.h"

namespace zarrfs {
namespace {

constexpr std::string_view kChunks = "c";

using Heads = RevalidatingCache<int, IcechunkHead>;
using HeadPtr = Heads::ValuePtr;
using Chunk = IcechunkChunkFinder::Found;

// How the one value of Heads is read.
class HeadLoader final : public Heads::Loader {
 public:
  // `found`: what was looked up a moment ago.
  HeadLoader(const Store& container, const IcechunkAt& at, HeadPtr known,
             std::optional<IcechunkPointer> found = std::nullopt)
      : container_(container), at_(at), known_(std::move(known)), found_(std::move(found)) {}

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
    auto head = found_ ? IcechunkHead::ReadSnapshotOf(
                             container_, *std::exchange(found_, std::nullopt), known_.get())
                       : IcechunkHead::Read(container_, at_, known_.get());
    if (!head) return Fail(head);
    return Heads::Loaded{*std::move(head), 1};
  }

  Validity ValidityOf(const IcechunkHead& head, Validity watched) override {
    return head.pointer.info.may_change_elsewhere ? Validity() : watched;
  }
  bool IsRacy(const IcechunkHead& head) override {
    return at_.moves() && zarrfs::IsRacy(container_, head.pointer.info);
  }

 private:
  const Store& container_;
  const IcechunkAt& at_;
  const HeadPtr known_;
  std::optional<IcechunkPointer> found_;
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
  IcechunkStore(std::shared_ptr<const Store> container, IcechunkAt at, Age max_age, Age period)
      : ForwardingStore(container),
        container_(std::move(container)),
        at_(std::move(at)),
        max_age_(max_age),
        finder_(container_),
        heads_(container_, /*capacity_bytes=*/1, /*splits=*/1),
        follower_(container_, at_, period) {}

  /// `found`: see HeadLoader.
  [[nodiscard]] Result<HeadPtr> Current(std::optional<IcechunkPointer> found = std::nullopt) const {
    if (follower_.generation() != 0) return follower_.head();
    HeadLoader loader(*container_, at_, heads_.Find(0), std::move(found));
    return heads_.Get(0, at_.moves() ? max_age_ : kAnyAge, loader).value;
  }

  std::optional<ObjectInfo> FolderOfKeys() const override { return std::nullopt; }

  [[nodiscard]] Result<ObjectInfo> Stat(std::string_view key) const override {
    const auto found = Find(key);
    if (!found) return Fail(found);
    const IcechunkSnapshot& snapshot = *found->head->snapshot;
    switch (found->kind) {
      case Found::Kind::kDocument:
        return IcechunkInfoOfPart(snapshot.info(), found->node->document.size(), kIcechunkDocument);
      case Found::Kind::kChunk:
        return InfoOfChunk(key, *found->head, *found->chunk);
      case Found::Kind::kFolder:
        break;
    }
    return IcechunkInfoOfFolder(snapshot);
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
      return ReadChunk(key, *found->head, *found->chunk, range, out);
    const std::string_view bytes = found->node->document;
    return ReadFrom(
        MakePartInMemory(IcechunkInfoOfPart(snapshot->info(), bytes.size(), kIcechunkDocument),
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

  [[nodiscard]] const std::shared_ptr<const Store>& container() const { return container_; }

  // See IcechunkPlaceOf().
  [[nodiscard]] Result<IcechunkPlace> PlaceOf(std::string_view key) const {
    const auto found = Find(key);
    if (!found) return Fail(found);
    if (found->kind != Found::Kind::kChunk) {
      return Fail(ErrorCode::kNotFound, "{}: not a chunk", key);
    }
    const IcechunkReference& reference = found->chunk->reference;
    if (reference.kind == IcechunkReference::Kind::kNative) {
      return IcechunkPlace{KeyOf(reference), reference.offset};
    }
    if (reference.kind == IcechunkReference::Kind::kInline) {
      return Fail(ErrorCode::kUnsupported, "{}: stored inline, in a compressed manifest", key);
    }
    return Fail(ErrorCode::kUnsupported, "{}: {}", key, WhereVirtual(reference));
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
    const auto prepare = [this](const IcechunkHead& before, const IcechunkHead& next) {
      return FindIcechunkChanges(finder_, *before.snapshot, *next.snapshot);
    };
    follower_.Start(*std::move(head), prepare, std::move(listener), std::move(report));
    return {};
  }
  [[nodiscard]] bool ChangesInSteps() const override { return true; }
  [[nodiscard]] uint64_t Watch(std::string_view /*folder*/) const override {
    return change_count();
  }
  [[nodiscard]] uint64_t WatchAllNames(std::string_view /*folder*/) const override {
    return change_count();
  }
  [[nodiscard]] uint64_t change_count() const override {
    return at_.moves() ? follower_.generation() : 1;
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
  // (Which never changes, so that a chunk keeps its version while commits leave it alone.)
  [[nodiscard]] ObjectInfo InfoOfNative(const IcechunkHead& head,
                                        const IcechunkReference& reference,
                                        const ObjectInfo* object) const {
    const std::string what =
        fmt::format("{} {}", IcechunkIdText(reference.chunk), reference.offset);
    if (object != nullptr && AnswersFast())
      return IcechunkInfoOfPart(*object, reference.length, what);
    ObjectInfo info = head.snapshot->info();
    info.version = {};
    info.version.mtime_ns = info.version.ctime_ns = head.first_ns;
    return IcechunkInfoOfPart(std::move(info), reference.length, what);
  }

  static std::string WhereVirtual(const IcechunkReference& reference) {
    return fmt::format("a virtual chunk, {} bytes at {} of {}", reference.length, reference.offset,
                       reference.is_compressed ? "another file" : AsciiExcerpt(reference.bytes));
  }

  // (Offset and length are below 2^63.)
  static Result<void> CheckHolds(std::string_view key, const IcechunkReference& reference,
                                 uint64_t size) {
    return CheckIcechunkPart(key, KeyOf(reference), size, reference.offset + reference.length);
  }

  static tl::unexpected<Error> ErrorOfObject(std::string_view key,
                                             const IcechunkReference& reference,
                                             const Error& error) {
    return tl::unexpected(IcechunkErrorOfObject(key, KeyOf(reference), error));
  }

  [[nodiscard]] Result<ObjectInfo> InfoOfChunk(std::string_view key, const IcechunkHead& head,
                                               const Chunk& chunk) const {
    const IcechunkReference& reference = chunk.reference;
    if (reference.kind != IcechunkReference::Kind::kNative) {
      return IcechunkInfoOfPart(chunk.manifest->info(), reference.length, "chunk");
    }
    if (!AnswersFast()) return InfoOfNative(head, reference, nullptr);
    const auto object = container_->Stat(KeyOf(reference));
    if (!object) return ErrorOfObject(key, reference, object.error());
    if (auto holds = CheckHolds(key, reference, object->size()); !holds) return Fail(holds);
    return InfoOfNative(head, reference, &*object);
  }

  [[nodiscard]] Result<ReadAnswer> ReadChunk(std::string_view key, const IcechunkHead& head,
                                             const Chunk& chunk, const ByteRange& range,
                                             std::span<std::byte> out) const {
    const IcechunkReference& reference = chunk.reference;
    if (reference.kind == IcechunkReference::Kind::kVirtual) {
      return Fail(ErrorCode::kUnsupported,
                  "{}: {}: zarrfs reads native and inline chunks of Icechunk", key,
                  WhereVirtual(reference));
    }
    if (reference.kind == IcechunkReference::Kind::kInline) {
      return ReadFrom(
          MakePartInMemory(IcechunkInfoOfPart(chunk.manifest->info(), reference.length, "chunk"),
                           std::string(key), chunk.manifest, reference.bytes),
          range, out);
    }
    const ByteRange part = PartAskedFor(range, reference.length, out.size());
    const auto length = static_cast<size_t>(part.length);
    if (length == 0 && !AnswersFast()) {  // whoever wants the object reads it next
      auto object = MakePartToRead(InfoOfNative(head, reference, nullptr), std::string(key),
                                   container_, KeyOf(reference), reference.offset);
      return ReadAnswer{std::move(object), part.offset, 0};
    }
    auto answer = container_->Read(KeyOf(reference),
                                   ByteRange::At(reference.offset + part.offset, part.length),
                                   out.first(length));
    if (!answer) return ErrorOfObject(key, reference, answer.error());
    const ObjectInfo& object = answer->object->info();
    if (auto holds = CheckHolds(key, reference, object.size()); !holds) return Fail(holds);
    ObjectInfo info = InfoOfNative(head, reference, &object);
    return ReadAnswer{MakePartOfObject(std::move(info), std::string(key), std::move(answer->object),
                                       reference.offset),
                      part.offset, length};
  }

  [[nodiscard]] std::string Place() const { return fmt::format("{} at {}", name(), at_.Text()); }

  const std::shared_ptr<const Store> container_;
  const IcechunkAt at_;
  const Age max_age_;
  mutable IcechunkChunkFinder finder_;
  mutable Heads heads_;
  mutable IcechunkFollower follower_;  // ends first: its thread uses the rest
};

}  // namespace

Result<std::shared_ptr<Store>> OpenIcechunkStore(std::shared_ptr<const Store> container,
                                                 IcechunkAt at, Age max_age, Age period) {
  auto pointer = FindIcechunkPointer(*container, at);
  if (!pointer) return Fail(pointer);
  return OpenIcechunkStore(std::move(container), std::move(at), *std::move(pointer), max_age,
                           period);
}

Result<std::shared_ptr<Store>> OpenIcechunkStore(std::shared_ptr<const Store> container,
                                                 IcechunkAt at, IcechunkPointer pointer,
                                                 Age max_age, Age period) {
  auto store =
      std::make_shared<IcechunkStore>(std::move(container), std::move(at), max_age, period);
  if (const auto head = store->Current(std::move(pointer)); !head) return Fail(head);
  return store;
}

std::shared_ptr<const Store> IcechunkContainerOf(const Store& store) {
  const auto* const repository = dynamic_cast<const IcechunkStore*>(&store);
  return repository == nullptr ? nullptr : repository->container();
}

Result<IcechunkPlace> IcechunkPlaceOf(const Store& store, std::string_view key) {
  const auto* const repository = dynamic_cast<const IcechunkStore*>(&store);
  if (repository == nullptr) {
    return Fail(ErrorCode::kInvalidArgument, "{}: no Icechunk repository", store.name());
  }
  return repository->PlaceOf(key);
}

}  // namespace zarrfs
