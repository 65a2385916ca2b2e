// ChunkSource: locates the innermost chunks of one array in its store.
//
// A ChunkSource finds the byte range of a chunk through the shard indexes at all levels of nesting.
// It lists the existing chunks by listing stored objects, and never iterates over the chunk grid.
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

/// Called once per problem found in the store, with an error that has a one-line message. Its code
/// is kDamaged if an object violates the format. Other codes mean that a valid object cannot be
/// shown.
using Report = std::function<void(const Error&)>;

/// A chunk that exists: bytes [offset, offset + length) of shard->object.
struct ChunkLocation {
  OpenShardPtr shard;  // the innermost shard, or the chunk itself if it is unsharded
  uint64_t entry = 0;  // the chunk's entry in the shard index; 0 for an unsharded chunk
  OuterIndex outer{};  // the stored object that contains the chunk
  uint64_t offset = 0;
  uint64_t length = 0;
};

/// The location of a chunk, or nullopt if the store does not contain the chunk, with the validity
/// of this answer.
struct Located {
  std::optional<ChunkLocation> location;
  Validity validity;
};

/// How a lookup treats an unsharded chunk with an impossible size. kChecked: fails with kDamaged.
/// kAny: reports the damage (see Report) and succeeds.
enum class Sizes { kChecked, kAny };

class ChunkSource;
/// Called with a version of a stored object after it was evicted from the cache, because the object
/// was replaced or removed, or because that version is racy (see IsRacy()). Called on the thread
/// that found the change, with no lock held. Forget() does not call it.
using OnSuperseded =
    std::function<void(const ChunkSource& source, OuterIndex outer, const OpenShardPtr& old)>;

class ChunkSource : public std::enable_shared_from_this<ChunkSource> {
 public:
  /// `folder`: key of the array in the store. `before`: null, or the source that this array had
  /// before the length of axis 0 changed. The new source then shares the id and the cached chunks
  /// of `before`, because the chunk numbers stay the same.
  static Result<std::shared_ptr<ChunkSource>> Make(std::shared_ptr<const Store> store,
                                                   std::string folder,
                                                   const ArrayMetadata& metadata,
                                                   std::shared_ptr<IndexCache> cache, Report report,
                                                   OnSuperseded on_superseded = {},
                                                   const ChunkSource* before = nullptr);

  [[nodiscard]] const ArrayLayout& layout() const { return layout_; }
  [[nodiscard]] const std::string& folder() const { return folder_; }
  /// Identifies this source. The number is unique in the process, except that a source shares the
  /// id of the source that was passed to Make() as `before`.
  [[nodiscard]] uint64_t id() const { return shards_->id(); }

  /// OuterOf() returns the stored object that contains an innermost chunk. SlotOf() returns the
  /// chunk's slot in that object.
  [[nodiscard]] OuterIndex OuterOf(InnerIndex chunk) const { return Split(chunk).outer; }
  [[nodiscard]] Slot SlotOf(InnerIndex chunk) const;

  /// Returns the key of a stored object. While the key separator is undecided, returns one of the
  /// two candidates.
  [[nodiscard]] std::string ObjectKey(OuterIndex outer) const { return shards_->ObjectKey(outer); }
  /// True if the naming of stored objects is known; see array/object_naming.h. Until an object is
  /// found, listings look for names with either separator.
  [[nodiscard]] bool has_decided_naming() const { return naming_->is_decided(); }
  /// Returns the stored object with this key, or nullopt if no object of the array can have the
  /// key.
  [[nodiscard]] std::optional<OuterIndex> ObjectOfKey(std::string_view key) const;
  /// Finds the leading coordinates that all stored objects below the folder `key` share. Stores the
  /// coordinates in `at` and returns their number, or nullopt if the array cannot have that folder.
  [[nodiscard]] std::optional<size_t> PrefixOfKey(std::string_view key, ChunkCoordinates& at) const;

  /// Wall-clock time of the latest known change to an object of the array, in nanoseconds; 0 if no
  /// change is known.
  [[nodiscard]] int64_t changed_ns() const { return shards_->changed_ns(); }
  /// Records that an object of the array changed now.
  void SetChanged() const { shards_->SetChanged(); }

  /// Finds a chunk. Fails with kDamaged, with key and reason in the message, if the index is
  /// invalid, or if an uncompressed chunk in a shard has the wrong size. With Sizes::kChecked, also
  /// fails if an unsharded chunk is empty, or is uncompressed and has the wrong size. With
  /// `may_read` false, which suffices if only the location is needed, an unsharded chunk in a fast
  /// store need not be opened.
  [[nodiscard]] Result<Located> Locate(InnerIndex chunk, Age max_age, bool may_read = true,
                                       Sizes sizes = Sizes::kChecked) const;

  /// Opens a stored object as it was in an earlier state of the store; see ShardCache::OpenAsOf().
  [[nodiscard]] Result<OpenShardPtr> OpenAsOf(OuterIndex outer, uint32_t step) const {
    return shards_->OpenAsOf(outer, step);
  }

  /// Finds a chunk in a given version of its stored object. `shard` must be the outermost shard.
  [[nodiscard]] Result<std::optional<ChunkLocation>> LocateIn(const OpenShardPtr& shard,
                                                              InnerIndex chunk,
                                                              Sizes sizes = Sizes::kChecked) const;

  /// Returns `error` with the key of the stored object prepended to its message. Also reports the
  /// error (see Report), once per version of the object. If `shard` was only stat'ed, the error is
  /// reported later, when the object is opened.
  [[nodiscard]] Error Damage(OuterIndex outer, const OpenShard& shard, const Error& error) const;

  /// True if a later version of the stored object may be indistinguishable from `shard`, so values
  /// derived from `shard` must not be cached.
  [[nodiscard]] bool IsRacy(const OpenShard& shard) const {
    return zarrfs::IsRacy(*store_, shard.info);
  }

  /// Evicts a stored object from the cache, and calls SetChanged(). Call after a read has failed
  /// with kStale.
  void Forget(OuterIndex outer) const { shards_->Forget(outer); }

  /// Calls `visit` with each existing stored object that may hold chunks whose coordinates begin
  /// with `prefix`, in no particular order, until `visit` returns false.
  [[nodiscard]] Result<void> VisitOuter(std::span<const uint64_t> prefix,
                                        const StoredObjects::Visit& visit,
                                        const WalkOptions& options = {}) const;

  /// Returns the objects that VisitOuter() visits, sorted.
  [[nodiscard]] Result<std::vector<OuterIndex>> ListOuter(std::span<const uint64_t> prefix) const;

  /// Returns a cursor over the objects that VisitOuter() visits. The cursor watches the folders
  /// that it lists, unless the naming of objects is undecided. The ChunkSource must outlive the
  /// cursor.
  [[nodiscard]] Result<std::unique_ptr<StoredObjectsCursor>> OuterCursor(
      std::span<const uint64_t> prefix) const;

  /// True if the coordinates of any stored chunk begin with `prefix`, or if an unreadable folder
  /// may contain such a chunk. The validity is known only if a chunk was found.
  [[nodiscard]] Result<Valid<bool>> AnyChunk(std::span<const uint64_t> prefix, Age max_age) const;

  /// Finds all stored chunks whose coordinates begin with `prefix`, and returns the sorted values
  /// of their next coordinate. Includes all values that chunks in an unreadable subfolder may have.
  /// Fails if the top folder cannot be listed. Returns no values if `prefix` has all coordinates of
  /// a chunk.
  [[nodiscard]] Result<std::vector<uint64_t>> NextCoordinates(std::span<const uint64_t> prefix,
                                                              Age max_age) const;

 private:
  friend class ChunkCursor;

  // How often a shard that is replaced again and again is opened before reading it fails.
  static constexpr int kMaxAttempts = 3;

  struct Position {
    OuterIndex outer;
    ChunkCoordinates local;  // the position of the innermost chunk within the outer chunk
  };
  struct Found {
    std::optional<ChunkLocation> location;
    // If the chunk is missing: the number of consecutive missing chunks along the last axis,
    // starting with this chunk.
    uint64_t missing = 0;
  };

  ChunkSource() = default;
  // Returns the path of a key relative to the array's folder, or nullopt if the key is outside the
  // folder.
  [[nodiscard]] std::optional<std::string_view> BelowFolder(std::string_view key) const;
  [[nodiscard]] Position Split(InnerIndex chunk) const;
  [[nodiscard]] ShardCache::Answer Open(OuterIndex outer, Age max_age, bool may_read) const;
  Result<Found> Find(OuterIndex outer, OpenShardPtr shard, std::span<const uint64_t> local,
                     Sizes sizes) const;
  Result<ChunkLocation> PlainChunk(OuterIndex outer, OpenShardPtr shard, Sizes sizes) const;
  // Returns the stored objects of the array. Fails if the naming of objects is undecided and the
  // objects cannot be listed.
  [[nodiscard]] Result<StoredObjects> Objects() const;
  [[nodiscard]] ChunkCoordinates OuterPrefix(std::span<const uint64_t> prefix) const;

  std::shared_ptr<const Store> store_;
  std::string folder_;
  ArrayLayout layout_;
  std::unique_ptr<const ObjectNaming> naming_;
  Report report_;
  std::unique_ptr<const ShardCache> shards_;
  // The size of each encoded innermost chunk in bytes, if it is constant.
  std::optional<uint64_t> raw_chunk_size_;
};

}  // namespace zarrfs
