// ChunkSource: where the innermost chunks of one array are, right now.
//
// Finds the byte range of a chunk through the shard indexes (all levels of nesting), which are kept
// in a cache shared by all arrays, and lists the chunks that are present by walking the objects
// that exist, never the grid. Every member may be called from any thread; no lock is held while the
// store is asked.
#ifndef ZARRCORE_ARRAY_CHUNK_SOURCE_H_
#define ZARRCORE_ARRAY_CHUNK_SOURCE_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "zarrcore/array/layout.h"
#include "zarrcore/base/hash.h"
#include "zarrcore/base/lru_cache.h"
#include "zarrcore/base/result.h"
#include "zarrcore/metadata/metadata.h"
#include "zarrcore/store/store.h"
#include "zarrcore/store/validity.h"

namespace zarrfs {

/// Told once of whatever a store has wrong: the message in one line; kDamaged if it breaks the
/// format, another code if it is only not shown.
using Report = std::function<void(const Error&)>;

/// One version of a stored object that holds chunks: a shard with its index, a shard inside a
/// shard, or a plain chunk.
struct OpenShard {
  std::shared_ptr<const Object> object;  // null if a plain chunk was only asked for its size
  ObjectInfo info;
  uint64_t fingerprint = 0;         // of info.version
  uint64_t offset = 0;              // of this shard in the object
  uint64_t size = 0;                // bytes, without a trailing checksum
  std::optional<ShardIndex> index;  // absent in a plain chunk, and where there is damage
  std::optional<Error> damage;      // why there is no index: true of this version for ever
  bool is_in_memory = false;        // the object is a decoded one

  mutable Freshness freshness;
  mutable std::atomic<bool> reported{false};  // damage in an entry was told
  /// What ChunkReader knows of each entry's zstd frame; null where there are none. 0: nothing yet.
  std::unique_ptr<std::atomic<uint8_t>[]> frame_notes;
};
using OpenShardPtr = std::shared_ptr<const OpenShard>;

/// Identifies an OpenShard in the index cache.
struct ShardKey {
  uint64_t array = 0;   // ChunkSource::id()
  uint64_t linear = 0;  // which shard, in the grid of its level
  uint32_t level = 0;   // 0: a stored object
  bool operator==(const ShardKey&) const = default;
};
struct ShardKeyHash {
  size_t operator()(const ShardKey& key) const {
    return HashFields(key.array, key.linear, key.level);
  }
};
using IndexCache = LruCache<ShardKey, OpenShard, ShardKeyHash>;

/// A chunk that is there: bytes [offset, offset + length) of shard->object.
struct ChunkLocation {
  OpenShardPtr shard;  // innermost
  uint64_t entry = 0;  // of its index; 0 of a plain chunk
  uint64_t outer = 0;  // the stored object, in layout().outer_grid
  uint64_t offset = 0;
  uint64_t length = 0;
  uint64_t watched = 0;  // current while Store::change_count() is this; 0 if that is not known
};

/// Whether a stored object that is a chunk by itself must have a size that a chunk can have: else
/// it is kDamaged, or (kAny) only reported.
enum class Sizes { kChecked, kAny };

class ChunkSource;
/// Told of a version of a stored object that is not kept: found not to be current any more, or so
/// young that another may look the same.
using OnSuperseded =
    std::function<void(const ChunkSource& source, uint64_t outer, const OpenShardPtr& old)>;

class ChunkSource {
 public:
  /// `folder`: key of the array in the store. `cache` and `store` are shared and outlive nothing.
  static Result<std::shared_ptr<ChunkSource>> Make(std::shared_ptr<const Store> store,
                                                   std::string folder,
                                                   const ArrayMetadata& metadata,
                                                   std::shared_ptr<IndexCache> cache, Report report,
                                                   OnSuperseded on_superseded = {});

  [[nodiscard]] const ArrayLayout& layout() const { return layout_; }
  [[nodiscard]] const std::string& folder() const { return folder_; }
  /// Different for every ChunkSource of the process.
  [[nodiscard]] uint64_t id() const { return id_; }

  /// The stored object (by its number in layout().outer_grid) that holds an innermost chunk (by its
  /// number in layout().inner_grid).
  [[nodiscard]] uint64_t OuterOf(uint64_t chunk) const;

  /// Its place there: row-major among layout().inner_per_outer_count.
  [[nodiscard]] uint64_t SlotOf(uint64_t chunk) const;

  /// Key of a stored object.
  [[nodiscard]] std::string ObjectKey(uint64_t outer) const;
  /// The stored object with this key, or nullopt if the array has none.
  [[nodiscard]] std::optional<uint64_t> ObjectOfKey(std::string_view key) const;

  /// Wall-clock nanoseconds: when an object was last seen to have changed; 0 for never.
  [[nodiscard]] int64_t changed_ns() const { return changed_ns_.load(std::memory_order_relaxed); }
  /// An object has changed now.
  void SetChanged() const;

  /// nullopt if the store does not hold the chunk. kDamaged, with key and reason, if the store says
  /// something about the chunk that cannot be: also (unless `sizes` says otherwise) a chunk of no
  /// bytes, and one of another size than all chunks of an uncompressed array have. `may_read`:
  /// false if the place is only looked at, not read (spares opening an unsharded chunk). `watched`
  /// becomes the change_count() of the store while which the answer is current, or 0 if that is not
  /// known.
  [[nodiscard]] Result<std::optional<ChunkLocation>> Locate(uint64_t chunk, Age max_age,
                                                            bool may_read = true,
                                                            uint64_t* watched = nullptr,
                                                            Sizes sizes = Sizes::kChecked) const;

  /// The chunk as it was in a version of its stored object (`shard`: that object's, not a nested
  /// one's).
  [[nodiscard]] Result<std::optional<ChunkLocation>> LocateIn(const OpenShardPtr& shard,
                                                              uint64_t chunk,
                                                              Sizes sizes = Sizes::kChecked) const;

  /// `error`, found in a stored object, with its key; reported once an object and version.
  [[nodiscard]] Error Damage(uint64_t outer, const OpenShard& shard, const Error& error) const;

  /// Whether another version of the stored object may look the same: what is made of this one is
  /// not to be remembered.
  [[nodiscard]] bool MayLookTheSame(const OpenShard& shard) const {
    return IsRacy(*store_, shard.info);
  }

  /// Forgets what is cached of a stored object: after kStale from a read.
  void Forget(uint64_t outer) const;

  /// Calls `visit` with each stored object that exists and may hold chunks whose coordinates begin
  /// with `prefix` (in no order), until it returns false.
  /// `on_folder`: called with the key of each folder before it is listed.
  [[nodiscard]] Result<void> VisitOuter(
      std::span<const uint64_t> prefix, const std::function<bool(uint64_t outer)>& visit,
      const std::function<void(const std::string& folder)>& on_folder = {}) const;

  /// The same as a sorted list. `watched` becomes the change_count() of the store while which it is
  /// current, 0 if that is not known.
  [[nodiscard]] Result<std::vector<uint64_t>> ListOuter(std::span<const uint64_t> prefix,
                                                        uint64_t* watched = nullptr) const;

  /// Calls `visit` for each chunk in one stored object that is present, or damaged, or (if
  /// `missing_too`) missing, and whose coordinates begin with `prefix`, in row-major order from
  /// place `from` (0 <= from < layout().inner_per_outer_count; `slot` counts the same places),
  /// until it returns false.
  /// Chunks of a shard that is damaged, or that the store refuses to read, all count as present.
  /// Fails only if the store cannot be asked now (it would block, timed out, no descriptors left).
  /// All chunks of an object that does not exist are missing. `place` is kNotFound of those.
  using VisitChunk =
      std::function<bool(uint64_t slot, uint64_t chunk, const Result<ChunkLocation>& place)>;
  /// `watched` as in Locate(), of the whole object.
  [[nodiscard]] Result<void> VisitChunks(uint64_t outer, std::span<const uint64_t> prefix,
                                         uint64_t from, Age max_age, const VisitChunk& visit,
                                         uint64_t* watched = nullptr, bool missing_too = false,
                                         Sizes sizes = Sizes::kChecked) const;

  /// Whether any chunk begins with `prefix`, or what lies there cannot be read. `watched` as in
  /// Locate(), but 0 if there is none.
  [[nodiscard]] Result<bool> AnyChunk(std::span<const uint64_t> prefix, Age max_age,
                                      uint64_t* watched = nullptr) const;

  /// The values, sorted, that coordinate prefix.size() takes in chunks beginning with `prefix`, or
  /// may take in a folder that cannot be read; none if the prefix is a whole chunk's coordinates.
  [[nodiscard]] Result<std::vector<uint64_t>> NextCoordinates(std::span<const uint64_t> prefix,
                                                              Age max_age) const;

 private:
  ChunkSource() = default;
  Result<OpenShardPtr> OuterShard(uint64_t outer, Age max_age, bool may_read,
                                  uint64_t* watched = nullptr) const;
  Result<IndexCache::Loaded> LoadOuter(const std::string& key) const;
  // A shard that has to be decoded as a whole.
  Result<IndexCache::Loaded> LoadWhole(const std::string& key) const;
  // Sets the shard's `index`, or its `damage`. Its `size` is known; `encoded` is the index, if it
  // was read already, else it is read from the shard's `object`.
  Result<void> ReadIndex(const ShardIndexSpec& spec, OpenShard& shard,
                         BytesView encoded = {}) const;
  uint64_t LargestShard() const;  // in bytes, once decoded
  Result<OpenShardPtr> NestedShard(const OpenShardPtr& parent, uint32_t level, uint64_t linear,
                                   const ChunkRange& range) const;
  // `local`: coordinates of the innermost chunk within its outer chunk. For a missing chunk,
  // `missing` becomes the number of chunks from it on, along the last axis, that are missing with
  // it.
  Result<std::optional<ChunkLocation>> Find(uint64_t outer, OpenShardPtr shard,
                                            std::span<const uint64_t> local, Sizes sizes,
                                            uint64_t* missing = nullptr) const;
  std::optional<Error> PlainChunkDamage(uint64_t size) const;
  IndexCache::Loaded Loaded(std::shared_ptr<OpenShard> shard) const;
  // Splits a chunk's number into its outer chunk and its coordinates in there.
  uint64_t Split(uint64_t chunk, ChunkCoordinates& local) const;
  // Removes a version that is not current any more from the cache, and tells.
  void Supersede(uint64_t outer, const OpenShardPtr& old) const;
  // True after waiting until a hot version is not hot any more: it is to be looked at again.
  bool WaitUntilCool(const ObjectInfo& info) const;

  std::shared_ptr<const Store> store_;
  std::string folder_;
  ArrayLayout layout_;
  ChunkKeyEncoding key_encoding_;
  std::shared_ptr<IndexCache> cache_;
  Report report_;
  OnSuperseded on_superseded_;
  uint64_t id_ = 0;
  mutable std::atomic<int64_t> changed_ns_ = 0;
  bool has_frames_ = false;                 // zstd is among the codecs of innermost chunks
  std::optional<uint64_t> raw_chunk_size_;  // of every encoded innermost chunk, if constant
};

}  // namespace zarrfs

#endif  // ZARRCORE_ARRAY_CHUNK_SOURCE_H_
