// IcechunkCommitReader: reads the keys of a commit. The keys are documents in the snapshot, chunks
// that a manifest names, and folders. See icechunk_store.h.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "zarrcore/base/result.h"
#include "zarrcore/icechunk/chunk_finder.h"
#include "zarrcore/icechunk/head.h"
#include "zarrcore/icechunk/icechunk_store.h"
#include "zarrcore/icechunk/virtual_chunks.h"
#include "zarrcore/icechunk/virtual_containers.h"
#include "zarrcore/store/store.h"

namespace zarrfs {

/// A key in a commit.
struct IcechunkKey {
  std::shared_ptr<const IcechunkHead> head;
  std::string_view shown;   // the key in the store, for messages
  std::string_view inside;  // the key in the commit
  uint32_t step = 0;        // see ReadAnswer::step
};

/// Converts an error in a file of the repository to the error of a Store call. A damaged or missing
/// file does not mean that the data are damaged or absent, so kDamaged and kNotFound become kIo.
[[nodiscard]] Error IcechunkErrorOfCall(const Error& error);

/// Reads keys of commits. Thread-safe.
class IcechunkCommitReader {
 public:
  /// If `virtual_chunks` is null, virtual chunks cannot be read.
  IcechunkCommitReader(std::shared_ptr<const Store> container,
                       std::shared_ptr<const IcechunkVirtualChunks> virtual_chunks)
      : container_(std::move(container)),
        virtual_chunks_(std::move(virtual_chunks)),
        containers_(container_),
        finder_(container_) {
    if (virtual_chunks_ == nullptr) {
      virtual_chunks_ = std::make_shared<IcechunkVirtualChunks>(std::vector<VirtualPrefix>(),
                                                                LocalStoreOptions());
    }
  }

  // Like the functions of Store with the same names.
  [[nodiscard]] Result<ObjectInfo> Stat(const IcechunkKey& key);
  [[nodiscard]] Result<ReadAnswer> Read(const IcechunkKey& key, const ByteRange& range,
                                        std::span<std::byte> out);
  [[nodiscard]] Result<std::unique_ptr<FolderStream>> OpenFolder(const IcechunkKey& folder);

  /// See IcechunkPlaceOf().
  [[nodiscard]] Result<IcechunkPlace> PlaceOf(const IcechunkKey& key);

  [[nodiscard]] IcechunkChunkFinder& finder() { return finder_; }
  [[nodiscard]] const IcechunkVirtualChunks& virtual_chunks() const { return *virtual_chunks_; }
  [[nodiscard]] const IcechunkContainers& containers() const { return containers_; }

 private:
  using Chunk = IcechunkChunkFinder::Found;
  struct Found {
    enum class Kind { kFolder, kDocument, kChunk };
    Kind kind = Kind::kFolder;
    const IcechunkNode* node = nullptr;  // null if the key only has nodes below it
    // For a folder of chunks: the coordinates in its path.
    std::optional<std::vector<uint32_t>> coordinates = {};
    std::optional<Chunk> chunk = {};
  };

  [[nodiscard]] Result<Found> Find(const IcechunkKey& key);
  // Finds the chunk, or the folder of chunks, at `rest`, a key relative to the array `node`.
  [[nodiscard]] Result<Found> FindBelow(const IcechunkNode& node, std::string_view rest);
  // True if the array has a folder `c`. An array with dimensions has one if the snapshot names a
  // manifest of the array, so the manifest need not be read.
  [[nodiscard]] Result<bool> HasChunks(const IcechunkNode& node);
  // Returns the attributes of a native chunk. In slow stores they are derived from the reference,
  // which saves a request for the attributes of the object. A reference never changes, so the
  // version of a chunk survives commits that do not change the chunk.
  [[nodiscard]] ObjectInfo InfoOfNative(const IcechunkHead& head,
                                        const IcechunkReference& reference,
                                        const ObjectInfo* object) const;
  // Returns `chunk` as a virtual chunk. kUnsupported if its location names an unknown container.
  [[nodiscard]] Result<IcechunkVirtualChunk> VirtualChunk(std::string_view key,
                                                          const Chunk& chunk) const;
  [[nodiscard]] Result<ObjectInfo> InfoOfChunk(const IcechunkKey& key, const Chunk& chunk) const;
  [[nodiscard]] Result<ReadAnswer> ReadChunk(const IcechunkKey& key, const Chunk& chunk,
                                             const ByteRange& range,
                                             std::span<std::byte> out) const;

  const std::shared_ptr<const Store> container_;
  std::shared_ptr<const IcechunkVirtualChunks> virtual_chunks_;  // never null
  const IcechunkContainers containers_;
  IcechunkChunkFinder finder_;
};

}  // namespace zarrfs
