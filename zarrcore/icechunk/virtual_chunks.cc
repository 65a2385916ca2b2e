#include "zarrcore/icechunk/virtual_chunks.h"

#include <fcntl.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "zarrcore/base/mutex.h"
#include "zarrcore/base/printable.h"
#include "zarrcore/icechunk/parts.h"
#include "zarrcore/icechunk/virtual_objects.h"
#include "zarrcore/local/access_lists.h"
#include "zarrcore/local/path_modes.h"
#include "zarrcore/os/descriptor.h"

namespace zarrfs {
namespace {

using Chunk = IcechunkVirtualChunks::Chunk;

// The ETag that writers of references give to a local file, as computed by Rust's object_store.
std::string EtagOf(const Version& version) {
  constexpr int64_t kNsInUs = 1000;
  return fmt::format("{:x}-{:x}-{:x}", version.inode,
                     std::max<int64_t>(version.mtime_ns, 0) / kNsInUs, version.size);
}

Result<void> Check(const Chunk& chunk, const Version& version) {
  return CheckVirtualChunk(chunk, version, EtagOf(version));
}

// The attributes of a chunk in `file`.
ObjectInfo InfoOf(const Chunk& chunk, ObjectInfo file) {
  const uint64_t size = chunk.size(file.size());
  return IcechunkInfoOfPart(std::move(file), size,
                            fmt::format("virtual {}", chunk.reference.offset));
}

}  // namespace

Result<void> AddVirtualPrefix(std::string_view text, std::vector<VirtualPrefix>& prefixes) {
  auto prefix = ParseVirtualPrefix(text);
  if (!prefix) return Fail(prefix);
  if (std::ranges::find(prefixes, *prefix) != prefixes.end()) return {};
  if (prefixes.size() == kMaxVirtualPrefixes) {
    return Fail(ErrorCode::kInvalidArgument, "more than {} prefixes", kMaxVirtualPrefixes);
  }
  prefixes.push_back(*std::move(prefix));
  return {};
}

// The folder of a prefix such as file:///data/nc/. Chunks may be read from all files below it.
class IcechunkVirtualChunks::Folder {
 public:
  Folder(const VirtualPrefix& prefix, LocalStoreOptions options)
      : path_(prefix.Path()),
        options_(std::move(options)),
        lists_(std::make_unique<AccessLists>(options_.on_access_list)) {
    options_.links = {};  // follow only links that end inside the folder
    options_.max_open_files = kMaxOpenFiles;
  }

  [[nodiscard]] Result<std::shared_ptr<const Store>> Open() {
    const MutexLock lock(mutex_);
    if (store_ != nullptr) return store_;
    std::error_code error;
    auto real = std::filesystem::canonical(path_, error);
    if (error) return Fail(FromErrno(error.value()), "{}: {}", path_, error.message());
    auto store = OpenLocalStore(path_, options_);
    if (!store) return Fail(store);
    real_ = real.relative_path().string();
    store_ = *std::move(store);
    return store_;
  }
  [[nodiscard]] std::shared_ptr<const Store> opened() const {
    const MutexLock lock(mutex_);
    return store_;
  }

  // Removes the permissions in `info` that the folders from the root directory down to this folder
  // do not grant. The store has already applied the folders below this one.
  [[nodiscard]] ObjectInfo Reduced(ObjectInfo info) {
    info.may_change_elsewhere = true;  // no watch covers the file
    if (!options_.others_read) return info;
    const auto above = modes_.Above(root_.get(), JoinKey(real_, "x"), nullptr, *lists_);
    const uint32_t mask = ModeMask(*above, info.uid, info.gid, options_.reader);
    info.mode &= mask;
    info.version.mode_mask &= mask;
    return info;
  }

 private:
  static constexpr size_t kMaxOpenFiles = 256;  // excludes the open files of the repository

  const std::string path_;
  LocalStoreOptions options_;
  const Descriptor root_{open("/", O_PATH | O_DIRECTORY | O_CLOEXEC)};
  PathModes modes_;
  const std::unique_ptr<AccessLists> lists_;
  mutable Mutex mutex_;
  std::shared_ptr<const Store> store_ GUARDED_BY(mutex_);  // set once, after real_
  // The path with all links resolved, and without the first slash. Constant after store_ is set.
  std::string real_;
};

IcechunkVirtualChunks::IcechunkVirtualChunks(std::vector<VirtualPrefix> prefixes,
                                             const LocalStoreOptions& options,
                                             const std::vector<StorePtr>& networked, Age max_age)
    : prefixes_(std::move(prefixes)) {
  auto next = networked.begin();
  for (size_t number = 0; number < prefixes_.size(); ++number) {
    if (prefixes_[number].is_local()) {
      auto& folder = folders_[number];
      folder = std::make_unique<Folder>(prefixes_[number], options);
      (void)folder->Open();
    } else if (next != networked.end()) {
      objects_[number] = std::make_unique<const IcechunkVirtualObjects>(*next++, max_age);
    }
  }
}

IcechunkVirtualChunks::~IcechunkVirtualChunks() = default;

Result<IcechunkVirtualChunks::Place> IcechunkVirtualChunks::Find(const Chunk& chunk) const {
  auto place = MatchVirtualLocation(prefixes_, chunk.location);
  if (!place) return Fail(place.error().code, "{}: {}", WhatIs(chunk), place.error().message);
  if (const auto folder = folders_.find(place->prefix); folder != folders_.end()) {
    return Place{folder->second.get(), nullptr, std::move(place->key)};
  }
  if (const auto objects = objects_.find(place->prefix); objects != objects_.end()) {
    return Place{nullptr, objects->second.get(), std::move(place->key)};
  }
  return Fail(ErrorCode::kUnsupported,
              "{}: no store is open for this prefix of virtual=", WhatIs(chunk));
}

Result<std::optional<ObjectInfo>> IcechunkVirtualChunks::Stat(const Chunk& chunk) const {
  const auto place = Find(chunk);
  if (!place) return std::nullopt;
  if (place->objects != nullptr) return place->objects->Stat(chunk, place->key);
  const auto store = place->folder->Open();
  if (!store) return tl::unexpected(ErrorOfVirtualFile(chunk, store.error()));
  const auto info = (*store)->Stat(place->key);
  if (!info) return tl::unexpected(ErrorOfVirtualFile(chunk, info.error()));
  if (info->is_folder) return Fail(ErrorCode::kIo, "{}: not a file", WhatIs(chunk));
  if (auto checked = Check(chunk, info->version); !checked) return Fail(checked);
  return InfoOf(chunk, place->folder->Reduced(*info));
}

Result<ReadAnswer> IcechunkVirtualChunks::Read(const Chunk& chunk, const ByteRange& range,
                                               std::span<std::byte> out) const {
  const auto place = Find(chunk);
  if (!place) return Fail(place);
  if (place->objects != nullptr) return place->objects->Read(chunk, place->key, range, out);
  const auto store = place->folder->Open();
  if (!store) return tl::unexpected(ErrorOfVirtualFile(chunk, store.error()));
  const uint64_t begin = chunk.reference.offset;
  ByteRange part = range;
  if (!chunk.is_whole) {
    part = PartAskedFor(range, chunk.reference.length, out.size());
    part.offset += begin;
    out = out.first(static_cast<size_t>(part.length));
  }
  auto answer = (*store)->Read(place->key, part, out);
  if (!answer) return tl::unexpected(ErrorOfVirtualFile(chunk, answer.error()));
  const ObjectInfo& file = answer->object->info();
  if (auto checked = Check(chunk, file.version); !checked) return Fail(checked);
  auto info = InfoOf(chunk, place->folder->Reduced(file));
  return ReadAnswer{
      MakePartOfObject(std::move(info), std::string(chunk.key), std::move(answer->object), begin),
      answer->offset - begin, answer->length};
}

int64_t IcechunkVirtualChunks::TimestampGranularityNs() const {
  int64_t coarsest = 0;
  for (const auto& [number, objects] : objects_) {
    coarsest = std::max(coarsest, objects->TimestampGranularityNs());
  }
  for (const auto& [number, folder] : folders_) {
    if (const auto store = folder->opened()) {
      coarsest = std::max(coarsest, store->TimestampGranularityNs());
    }
  }
  return coarsest;
}

void IcechunkVirtualChunks::CloseIdle() const {
  for (const auto& [number, folder] : folders_) {
    if (const auto store = folder->opened()) store->CloseIdle();
  }
}

}  // namespace zarrfs
