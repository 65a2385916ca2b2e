#include "zarrcore/kerchunk/kerchunk_store.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "zarrcore/base/printable.h"
#include "zarrcore/icechunk/parts.h"
#include "zarrcore/kerchunk/reference_set.h"
#include "zarrcore/store/store_in_file.h"

namespace zarrfs {
namespace {

using SetPtr = std::shared_ptr<const KerchunkReferenceSet>;

// Lists the names directly below one folder of a reference set.
class SetFolderStream final : public FolderStream {
 public:
  // `prefix`: the folder with its final slash; "" for the root.
  SetFolderStream(SetPtr set, std::string prefix)
      : set_(std::move(set)), prefix_(std::move(prefix)), at_(set_->LowerBound(prefix_)) {}

  [[nodiscard]] Result<std::vector<ListEntry>> Next(size_t count) override {
    std::vector<ListEntry> entries;
    while (entries.size() < count && at_ && at_.key().starts_with(prefix_)) {
      const std::string_view rest = std::string_view(at_.key()).substr(prefix_.size());
      const size_t slash = rest.find('/');
      std::string name(rest.substr(0, slash));
      if (slash == rest.npos) {
        entries.push_back({std::move(name), false, false});
        at_.Next();
        continue;
      }
      constexpr char kAfterSlash = '/' + 1;
      at_ = set_->LowerBound(prefix_ + name + kAfterSlash);
      // If the folder's name is also a key of the set, it was already listed as an object.
      if (!set_->Find(prefix_ + name)) entries.push_back({std::move(name), true, false});
    }
    return entries;
  }

 private:
  const SetPtr set_;
  const std::string prefix_;
  KerchunkReferenceSet::Cursor at_;  // the next key
};

// Returns the address for a location. A location that begins with a slash is the path of a local
// file.
std::string AddressOf(std::string location) {
  if (!location.starts_with('/')) return location;
  std::string address = "file://";
  for (const char c : location) {
    if (c == '%' || c == '?' || c == '#') {
      address += fmt::format("%{:02X}", c);
    } else {
      address += c;
    }
  }
  return address;
}

class KerchunkStore final : public StoreInFile<KerchunkReferenceSet> {
 public:
  KerchunkStore(std::shared_ptr<const Store> container, std::string key,
                std::shared_ptr<const IcechunkVirtualChunks> virtual_chunks, Age max_age)
      : StoreInFile(std::move(container), std::move(key), max_age),
        virtual_chunks_(std::move(virtual_chunks)) {}

  [[nodiscard]] Result<ObjectInfo> Stat(std::string_view key) const override {
    const auto found = Find(key, max_age());
    if (!found) return Fail(found);
    const ObjectInfo& file = found->set->object->info();
    if (!found->reference) return IcechunkInfoOfFolder(file);
    const KerchunkReference& reference = *found->reference;
    if (reference.kind != KerchunkReference::Kind::kInline) {
      const auto chunk = ChunkOf(key, *found);
      if (!chunk) return Fail(chunk);
      auto info = virtual_chunks_->Stat(*chunk);
      if (!info) return Fail(info);
      if (*info) return **std::move(info);
      // A reference to a whole file does not state the file's size, and an object of size 0 would
      // look empty. So return the error of a read.
      if (chunk->is_whole) return Fail(virtual_chunks_->Read(*chunk, ByteRange::At(0, 0), {}));
    }
    return IcechunkInfoOfPart(file, reference.length, kInSet);
  }

  [[nodiscard]] Result<std::unique_ptr<FolderStream>> OpenFolder(
      std::string_view folder) const override {
    auto found = Find(folder, max_age());
    if (!found) return Fail(found);
    if (found->reference) {
      return Fail(ErrorCode::kNotFound, "{}: a file, not a folder", folder);
    }
    std::string prefix(folder);
    if (!prefix.empty()) prefix += '/';
    return std::make_unique<SetFolderStream>(std::move(found->set), std::move(prefix));
  }

  [[nodiscard]] Result<uint64_t> OffsetInFile(std::string_view key) const override {
    const auto found = Find(key, max_age());
    if (!found) return Fail(found);
    if (!found->reference) return Fail(ErrorCode::kNotFound, "{}: a folder, not a file", key);
    const KerchunkReference& reference = *found->reference;
    if (reference.kind == KerchunkReference::Kind::kInline) {
      return Fail(ErrorCode::kUnsupported, "{}: stored inline, in the reference set", key);
    }
    const auto chunk = ChunkOf(key, *found);
    if (!chunk) return Fail(chunk);
    const std::string location = Visible(chunk->location);
    if (chunk->is_whole) {
      return Fail(ErrorCode::kUnsupported, "{}: a reference to all of {}", key, location);
    }
    return Fail(ErrorCode::kUnsupported, "{}: a reference to {} bytes at {} of {}", key,
                reference.length, reference.offset, location);
  }

  [[nodiscard]] bool AnswersFast() const override {
    return container().AnswersFast() && virtual_chunks_->AnswersFast();
  }

  [[nodiscard]] int64_t TimestampGranularityNs() const override {
    return std::max(container().TimestampGranularityNs(),
                    virtual_chunks_->TimestampGranularityNs());
  }

  /// See KerchunkVirtualFoldersOf().
  [[nodiscard]] Result<VirtualFolders> FoldersOfReferences() const {
    const auto set = Current(max_age());
    if (!set) return Fail(set);
    VirtualFolderSearch search;
    size_t left = kMaxVirtualReferences;
    for (auto at = (*set)->LowerBound(""); at && left > 0; at.Next()) {
      const KerchunkReference reference = at.reference();
      if (reference.kind == KerchunkReference::Kind::kInline) continue;
      --left;
      if (auto location = (*set)->LocationOf(reference)) {
        search.Add(AddressOf(*std::move(location)));
      } else {
        search.Miss();
      }
    }
    if (left == 0) search.Miss();
    return std::move(search).Finish();
  }

  void CloseIdle() const override {
    virtual_chunks_->CloseIdle();
    container().CloseIdle();
  }

 private:
  // Distinguishes the versions of inline objects from the version of the JSON file that contains
  // them; see IcechunkInfoOfPart().
  static constexpr std::string_view kInSet = "in the set";

  struct Found {
    SetPtr set;
    std::optional<KerchunkReference> reference;  // nullopt for a folder
  };

  [[nodiscard]] Result<Found> Find(std::string_view key, Age max_age) const {
    if (!IsValidKey(key)) return Fail(ErrorCode::kInvalidArgument, "{}: not a valid key", key);
    auto set = Current(max_age);
    if (!set) return Fail(set);
    if (key.empty()) return Found{*std::move(set), std::nullopt};
    if (const auto reference = (*set)->Find(key)) return Found{*std::move(set), reference};
    const std::string prefix = std::string(key) + "/";
    const auto below = (*set)->LowerBound(prefix);
    if (below && below.key().starts_with(prefix)) return Found{*std::move(set), std::nullopt};
    return Fail(ErrorCode::kNotFound, "{}: not in {}", key, Place());
  }

  [[nodiscard]] static Result<IcechunkVirtualChunks::Chunk> ChunkOf(std::string_view key,
                                                                    const Found& found) {
    const KerchunkReference& reference = *found.reference;
    auto location = found.set->LocationOf(reference);
    if (!location) return Fail(location.error().code, "{}: {}", key, location.error().message);
    IcechunkVirtualChunks::Chunk chunk{key, AddressOf(*std::move(location)), {}};
    chunk.reference.kind = IcechunkReference::Kind::kVirtual;
    chunk.reference.offset = reference.offset;
    chunk.reference.length = reference.length;
    chunk.is_whole = reference.kind == KerchunkReference::Kind::kWhole;
    return chunk;
  }

  [[nodiscard]] Result<ReadAnswer> ReadOnce(std::string_view key, ByteRange range,
                                            std::span<std::byte> out, Age max_age) const override {
    const auto found = Find(key, max_age);
    if (!found) return Fail(found);
    if (!found->reference) return Fail(ErrorCode::kNotFound, "{}: a folder, not a file", key);
    if (found->reference->kind != KerchunkReference::Kind::kInline) {
      const auto chunk = ChunkOf(key, *found);
      return chunk ? virtual_chunks_->Read(*chunk, range, out) : Fail(chunk);
    }
    const std::string_view bytes = found->reference->bytes;
    return ReadFrom(
        MakePartInMemory(IcechunkInfoOfPart(found->set->object->info(), bytes.size(), kInSet),
                         std::string(key), found->set, bytes),
        range, out);
  }

  const std::shared_ptr<const IcechunkVirtualChunks> virtual_chunks_;
};

}  // namespace

bool IsReferenceSetName(std::string_view name) {
  return name.ends_with(".json") && name.size() > std::string_view(".json").size() &&
         name != "zarr.json";
}

Result<VirtualFolders> KerchunkVirtualFoldersOf(const Store& store) {
  const auto* const set = dynamic_cast<const KerchunkStore*>(&store);
  return set == nullptr ? VirtualFolders() : set->FoldersOfReferences();
}

Result<std::shared_ptr<Store>> OpenKerchunkStore(
    std::shared_ptr<const Store> container, std::string key,
    std::shared_ptr<const IcechunkVirtualChunks> virtual_chunks, Age max_age) {
  if (virtual_chunks == nullptr) {
    virtual_chunks =
        std::make_shared<IcechunkVirtualChunks>(std::vector<VirtualPrefix>(), LocalStoreOptions());
  }
  auto store = std::make_shared<KerchunkStore>(std::move(container), std::move(key),
                                               std::move(virtual_chunks), max_age);
  if (const auto root = store->Stat(""); !root) return Fail(root);
  return store;
}

}  // namespace zarrfs
