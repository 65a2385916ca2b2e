// ChunkSource: the current locations of the innermost chunks of one array.
//
// Finds the byte range of a chunk through the shard indexes (all levels of nesting), and lists the
// chunks that are present by listing existing objects; it never iterates over the grid:
//
//   StoredObjects   enumerates existing objects
//   ShardCache      the objects, opened, and their indexes
//   ChunkCursor     the chunks in one object
//   ChunkNaming     the names of objects
//
// Every member may be called from any thread; no lock is held while the store is asked.
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

/// Called once per problem found in the store, with a message of one line: kDamaged if the object
/// violates the format, another code if it is merely not shown.
using Report = std::function<void(const Error&)>;

/// A chunk that exists: bytes [offset, offset + length) of shard->object.
struct ChunkLocation {
  OpenShardPtr shard;  // innermost
  uint64_t entry = 0;  // of its index; 0 for a plain chunk
  OuterIndex outer{};  // the stored object
  uint64_t offset = 0;
  uint64_t length = 0;
};

/// Where a chunk is, nullopt if the store does not hold it; with its validity.
struct Located {
  std::optional<ChunkLocation> location;
  Validity validity;
};

/// Whether a stored object that is an unsharded chunk must have a possible chunk size: if not, it
/// is kDamaged, or (kAny) only reported.
enum class Sizes { kChecked, kAny };

class ChunkSource;
/// Called with a version of a stored object that is evicted because it was replaced or is racy.
using OnSuperseded =
    std::function<void(const ChunkSource& source, OuterIndex outer, const OpenShardPtr& old)>;

class ChunkSource : public std::enable_shared_from_this<ChunkSource> {
 public:
  /// `folder`: key of the array in the store. `before`: source of the same array with another
  /// extent along axis 0, or null; the new source keeps its id and the cached chunks, whose numbers
  /// stay the same.
  static Result<std::shared_ptr<ChunkSource>> Make(std::shared_ptr<const Store> store,
                                                   std::string folder,
                                                   const ArrayMetadata& metadata,
                                                   std::shared_ptr<IndexCache> cache, Report report,
                                                   OnSuperseded on_superseded = {},
                                                   const ChunkSource* before = nullptr);

  [[nodiscard]] const ArrayLayout& layout() const { return layout_; }
  [[nodiscard]] const std::string& folder() const { return folder_; }
  /// Unique in the process, except that sources made from `before` share its id.
  [[nodiscard]] uint64_t id() const { return shards_->id(); }

  /// The stored object that holds an innermost chunk, and the chunk's slot in it.
  [[nodiscard]] OuterIndex OuterOf(InnerIndex chunk) const { return Split(chunk).outer; }
  [[nodiscard]] Slot SlotOf(InnerIndex chunk) const;

  /// Key of a stored object; one of two candidates while the separator of keys is undecided.
  [[nodiscard]] std::string ObjectKey(OuterIndex outer) const { return shards_->ObjectKey(outer); }
  /// Whether the naming of stored objects is known (array/object_naming.h). Until an object is
  /// found, a listing looks for both names.
  [[nodiscard]] bool has_decided_naming() const { return naming_->is_decided(); }
  /// The stored object with this key, or nullopt if it is not one of the array.
  [[nodiscard]] std::optional<OuterIndex> ObjectOfKey(std::string_view key) const;
  /// The leading coordinates shared by all stored objects below the folder with this key: returns
  /// their number, and fills `at`. nullopt if the array has no such folder.
  [[nodiscard]] std::optional<size_t> PrefixOfKey(std::string_view key, ChunkCoordinates& at) const;

  /// Wall-clock nanoseconds of the latest known change of an object; 0 for never.
  [[nodiscard]] int64_t changed_ns() const { return shards_->changed_ns(); }
  /// Records a change of an object now.
  void SetChanged() const { shards_->SetChanged(); }

  /// kDamaged, with key and reason, if the stored data about the chunk is invalid: also (unless
  /// `sizes` says otherwise) a chunk of no bytes, or of another size than all chunks of an
  /// uncompressed array have. `may_read`: false if only the location is needed, which avoids
  /// opening an unsharded chunk.
  [[nodiscard]] Result<Located> Locate(InnerIndex chunk, Age max_age, bool may_read = true,
                                       Sizes sizes = Sizes::kChecked) const;

  /// The chunk in a given version of its stored object (`shard`: the outermost one, not a nested
  /// one).
  [[nodiscard]] Result<std::optional<ChunkLocation>> LocateIn(const OpenShardPtr& shard,
                                                              InnerIndex chunk,
                                                              Sizes sizes = Sizes::kChecked) const;

  /// Returns `error`, found in a stored object, with the object's key; reports it once per object
  /// and version.
  [[nodiscard]] Error Damage(OuterIndex outer, const OpenShard& shard, const Error& error) const;

  /// Whether another version of the stored object may look the same: values derived from this one
  /// must not be cached.
  [[nodiscard]] bool IsRacy(const OpenShard& shard) const {
    return zarrfs::IsRacy(*store_, shard.info);
  }

  /// Evicts everything cached about a stored object: after kStale from a read.
  void Forget(OuterIndex outer) const { shards_->Forget(outer); }

  /// Calls `visit` with each existing stored object that may hold chunks whose coordinates begin
  /// with `prefix`, in no order, until it returns false.
  [[nodiscard]] Result<void> VisitOuter(std::span<const uint64_t> prefix,
                                        const StoredObjects::Visit& visit,
                                        const WalkOptions& options = {}) const;

  /// The objects of VisitOuter() as a sorted list.
  [[nodiscard]] Result<std::vector<OuterIndex>> ListOuter(std::span<const uint64_t> prefix) const;

  /// The objects of VisitOuter() one by one. Watches the folders it lists. This object must outlive
  /// the cursor.
  [[nodiscard]] Result<std::unique_ptr<StoredObjectsCursor>> OuterCursor(
      std::span<const uint64_t> prefix) const;

  /// Whether any chunk begins with `prefix`, or the folder cannot be read. The validity is that of
  /// the chunk found.
  [[nodiscard]] Result<Valid<bool>> AnyChunk(std::span<const uint64_t> prefix, Age max_age) const;

  /// The sorted values of coordinate prefix.size() in chunks beginning with `prefix`, including all
  /// possible values in a folder that cannot be read; empty if the prefix is a whole chunk's
  /// coordinates.
  [[nodiscard]] Result<std::vector<uint64_t>> NextCoordinates(std::span<const uint64_t> prefix,
                                                              Age max_age) const;

 private:
  friend class ChunkCursor;

  static constexpr int kMaxAttempts = 3;  // to read a shard that is replaced repeatedly

  struct Position {
    OuterIndex outer;
    ChunkCoordinates local;  // of the innermost chunk within the outer chunk
  };
  struct Found {
    std::optional<ChunkLocation> location;
    uint64_t missing = 0;  // if absent: number of missing chunks from here along the last axis
  };

  ChunkSource() = default;
  // The path of a key below the array's folder; nullopt if it is outside.
  [[nodiscard]] std::optional<std::string_view> BelowFolder(std::string_view key) const;
  [[nodiscard]] Position Split(InnerIndex chunk) const;
  [[nodiscard]] ShardCache::Answer Open(OuterIndex outer, Age max_age, bool may_read) const;
  Result<Found> Find(OuterIndex outer, OpenShardPtr shard, std::span<const uint64_t> local,
                     Sizes sizes) const;
  Result<ChunkLocation> PlainChunk(OuterIndex outer, OpenShardPtr shard, Sizes sizes) const;
  // Fails if the naming of objects is undecided and they cannot be listed.
  [[nodiscard]] Result<StoredObjects> Objects() const;
  [[nodiscard]] ChunkCoordinates OuterPrefix(std::span<const uint64_t> prefix) const;

  std::shared_ptr<const Store> store_;
  std::string folder_;
  ArrayLayout layout_;
  std::unique_ptr<const ObjectNaming> naming_;
  Report report_;
  std::unique_ptr<const ShardCache> shards_;
  std::optional<uint64_t> raw_chunk_size_;  // of every encoded innermost chunk, if constant
};

}  // namespace zarrfs
