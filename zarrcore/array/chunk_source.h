// ChunkSource: the current locations of the innermost chunks of one array.
//
// Finds the byte range of a chunk through the shard indexes, on all levels of nesting. Lists the
// existing chunks by listing stored objects; it never iterates over the chunk grid.
//
//   StoredObjects   lists the stored objects
//   ShardCache      caches open objects and their indexes
//   ChunkCursor     iterates over the chunks in one object
//   ChunkNaming     names of the objects
//
// Every member may be called from any thread. No lock is held during requests to the store.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "zarrcore/array/chunk_naming.h"
#include "zarrcore/array/layout.h"
#include "zarrcore/array/object_naming.h"
#include "zarrcore/array/open_shard.h"
#include "zarrcore/array/shard_cache.h"
#include "zarrcore/array/stored_objects.h"
#include "zarrcore/base/result.h"
#include "zarrcore/metadata/metadata.h"
#include "zarrcore/store/store.h"
#include "zarrcore/store/validity.h"

namespace zarrfs {

/// Called once per problem found in the store, with a message of one line. kDamaged if an object
/// violates the format; another code if a valid object cannot be shown.
using Report = std::function<void(const Error&)>;

/// A chunk that exists: bytes [offset, offset + length) of shard->object.
struct ChunkLocation {
  OpenShardPtr shard;  // the innermost shard, or the chunk itself if it is unsharded
  uint64_t entry = 0;  // the chunk's entry in the shard index; 0 for an unsharded chunk
  OuterIndex outer{};  // the stored object with the chunk
  uint64_t offset = 0;
  uint64_t length = 0;
};

/// The location of a chunk, nullopt if the store does not contain it, and the validity of this
/// answer.
struct Located {
  std::optional<ChunkLocation> location;
  Validity validity;
};

/// The treatment of an unsharded chunk of an impossible size. kChecked: the lookup fails with
/// kDamaged. kAny: the size is only reported.
enum class Sizes { kChecked, kAny };

class ChunkSource;
/// Called with a version of a stored object that was evicted because it was replaced or is racy.
using OnSuperseded =
    std::function<void(const ChunkSource& source, OuterIndex outer, const OpenShardPtr& old)>;

class ChunkSource : public std::enable_shared_from_this<ChunkSource> {
 public:
  /// `folder`: key of the array in the store. `before`: null, or the source of the same array with
  /// another length of axis 0. In that case, the new source keeps the id and the cached chunks of
  /// `before`, because its chunk numbers stay the same.
  static Result<std::shared_ptr<ChunkSource>> Make(std::shared_ptr<const Store> store,
                                                   std::string folder,
                                                   const ArrayMetadata& metadata,
                                                   std::shared_ptr<IndexCache> cache, Report report,
                                                   OnSuperseded on_superseded = {},
                                                   const ChunkSource* before = nullptr);

  [[nodiscard]] const ArrayLayout& layout() const { return layout_; }
  [[nodiscard]] const std::string& folder() const { return folder_; }
  /// A number that is unique in the process, except that a source made from `before` shares its id.
  [[nodiscard]] uint64_t id() const { return shards_->id(); }

  /// The stored object with an innermost chunk, and the chunk's slot in that object.
  [[nodiscard]] OuterIndex OuterOf(InnerIndex chunk) const { return Split(chunk).outer; }
  [[nodiscard]] Slot SlotOf(InnerIndex chunk) const;

  /// The key of a stored object. While the separator of keys is undecided, one of the two
  /// candidates.
  [[nodiscard]] std::string ObjectKey(OuterIndex outer) const { return shards_->ObjectKey(outer); }
  /// True if the naming of stored objects is known; see array/object_naming.h. Until an object is
  /// found, a listing looks for names in both forms.
  [[nodiscard]] bool has_decided_naming() const { return naming_->is_decided(); }
  /// The stored object with this key; nullopt if the key is not one of the array's objects.
  [[nodiscard]] std::optional<OuterIndex> ObjectOfKey(std::string_view key) const;
  /// The leading coordinates that all stored objects below the folder with this key have in common.
  /// Returns their number, and fills `at`. nullopt if the array has no such folder.
  [[nodiscard]] std::optional<size_t> PrefixOfKey(std::string_view key, ChunkCoordinates& at) const;

  /// Wall-clock time of the latest known change of an object, in nanoseconds; 0 if none is known.
  [[nodiscard]] int64_t changed_ns() const { return shards_->changed_ns(); }
  /// Records that an object has changed now.
  void SetChanged() const { shards_->SetChanged(); }

  /// Finds a chunk. kDamaged, with key and reason, if the index is invalid, or if an uncompressed
  /// chunk in a shard has the wrong size. With Sizes::kChecked, also if an unsharded chunk is
  /// empty, or is uncompressed and has the wrong size. With `may_read` false, an unsharded chunk in
  /// a fast store is not opened, which suffices if only the location is needed.
  [[nodiscard]] Result<Located> Locate(InnerIndex chunk, Age max_age, bool may_read = true,
                                       Sizes sizes = Sizes::kChecked) const;

  /// Opens a stored object of an earlier step of the store; see ShardCache::OpenAsOf().
  [[nodiscard]] Result<OpenShardPtr> OpenAsOf(OuterIndex outer, uint32_t step) const {
    return shards_->OpenAsOf(outer, step);
  }

  /// Finds a chunk in a given version of its stored object. `shard` must be the outermost shard.
  [[nodiscard]] Result<std::optional<ChunkLocation>> LocateIn(const OpenShardPtr& shard,
                                                              InnerIndex chunk,
                                                              Sizes sizes = Sizes::kChecked) const;

  /// Returns `error`, which concerns a stored object, with the object's key in the message. Also
  /// reports the error, once per object and version.
  [[nodiscard]] Error Damage(OuterIndex outer, const OpenShard& shard, const Error& error) const;

  /// True if a later version of the stored object may be indistinguishable from this version, so
  /// values derived from it must not be cached.
  [[nodiscard]] bool IsRacy(const OpenShard& shard) const {
    return zarrfs::IsRacy(*store_, shard.info);
  }

  /// Evicts everything cached about a stored object. Call after a read has failed with kStale.
  void Forget(OuterIndex outer) const { shards_->Forget(outer); }

  /// Calls `visit` with each existing stored object that may hold chunks whose coordinates begin
  /// with `prefix`, in no particular order, until `visit` returns false.
  [[nodiscard]] Result<void> VisitOuter(std::span<const uint64_t> prefix,
                                        const StoredObjects::Visit& visit,
                                        const WalkOptions& options = {}) const;

  /// A sorted list of the objects that VisitOuter() visits.
  [[nodiscard]] Result<std::vector<OuterIndex>> ListOuter(std::span<const uint64_t> prefix) const;

  /// A cursor over the objects that VisitOuter() visits. It watches the folders that it lists if
  /// the naming is decided. This object must outlive the cursor.
  [[nodiscard]] Result<std::unique_ptr<StoredObjectsCursor>> OuterCursor(
      std::span<const uint64_t> prefix) const;

  /// True if the coordinates of a stored chunk begin with `prefix`, or a folder cannot be read. The
  /// validity is known only if a chunk was found.
  [[nodiscard]] Result<Valid<bool>> AnyChunk(std::span<const uint64_t> prefix, Age max_age) const;

  /// The values, sorted, of the next coordinate of all stored chunks whose coordinates begin with
  /// `prefix`. Includes all values that the chunks in an unreadable subfolder may have. Fails if
  /// the top folder cannot be listed. Empty if the prefix has all coordinates of a chunk.
  [[nodiscard]] Result<std::vector<uint64_t>> NextCoordinates(std::span<const uint64_t> prefix,
                                                              Age max_age) const;

 private:
  friend class ChunkCursor;

  // Maximum attempts to read a shard that is replaced repeatedly.
  static constexpr int kMaxAttempts = 3;

  struct Position {
    OuterIndex outer;
    ChunkCoordinates local;  // the position of the innermost chunk within the outer chunk
  };
  struct Found {
    std::optional<ChunkLocation> location;
    // For a missing chunk: the number of missing chunks along the last axis, starting with it.
    uint64_t missing = 0;
  };

  ChunkSource() = default;
  // The path of a key relative to the array's folder; nullopt if the key is outside the folder.
  [[nodiscard]] std::optional<std::string_view> BelowFolder(std::string_view key) const;
  [[nodiscard]] Position Split(InnerIndex chunk) const;
  [[nodiscard]] ShardCache::Answer Open(OuterIndex outer, Age max_age, bool may_read) const;
  Result<Found> Find(OuterIndex outer, OpenShardPtr shard, std::span<const uint64_t> local,
                     Sizes sizes) const;
  Result<ChunkLocation> PlainChunk(OuterIndex outer, OpenShardPtr shard, Sizes sizes) const;
  // Fails if the naming of objects is undecided and the objects cannot be listed.
  [[nodiscard]] Result<StoredObjects> Objects() const;
  [[nodiscard]] ChunkCoordinates OuterPrefix(std::span<const uint64_t> prefix) const;

  std::shared_ptr<const Store> store_;
  std::string folder_;
  ArrayLayout layout_;
  std::unique_ptr<const ObjectNaming> naming_;
  Report report_;
  std::unique_ptr<const ShardCache> shards_;
  // The size of every encoded innermost chunk, if it is constant.
  std::optional<uint64_t> raw_chunk_size_;
};

}  // namespace zarrfs
