// ChunkReader: the bytes of chunk files, in each ChunkEncoding. Decoded chunks are decoded once, in
// memory taken from ProcessMemory(), and cached; other bytes are read straight from the stored
// objects or, for slow stores, from the cached stored chunks. Checksums that a file omits are
// checked (ChunkCheck). Thread-safe; threads that want the same chunk wait for the one that decodes
// it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <utility>

#include "zarrcore/array/chunk_source.h"
#include "zarrcore/base/hash.h"
#include "zarrcore/base/lru_cache.h"
#include "zarrcore/base/memory_budget.h"
#include "zarrcore/base/result.h"
#include "zarrcore/codec/codec.h"
#include "zarrcore/content/chunk_check.h"
#include "zarrcore/content/chunk_encoding.h"
#include "zarrcore/content/chunk_file.h"
#include "zarrcore/content/stored_ranges.h"

namespace zarrfs {

/// Whether decoded chunks are likely to be wanted again.
enum class Reuse { kLikely, kNever };

class ChunkReader {
 public:
  /// `capacity`: bytes of decoded chunks to cache. Of larger ones only the latest is cached, while
  /// it is read. `is_slow`: half of the capacity is for stored bytes.
  explicit ChunkReader(size_t capacity, bool is_slow = false)
      : cache_(is_slow ? capacity / 2 : capacity, kSplits) {
    cache_.KeepLatestLarge();
    if (is_slow) ranges_ = std::make_unique<StoredRanges>(capacity / 2);
  }

  /// Calls `on_wanted` when a chunk of a slow store is wanted from its beginning, before it is
  /// fetched, on the thread that wants it, possibly several times per chunk; it must not wait. Call
  /// before any other use.
  using OnWanted = std::function<void(const ChunkFile& file)>;
  void TellOfWanted(OnWanted on_wanted) { on_wanted_ = std::move(on_wanted); }
  /// The cache of stored bytes; null if the store is not slow.
  [[nodiscard]] StoredRanges* ranges() const { return ranges_.get(); }

  /// Whether Size() can answer without reading.
  [[nodiscard]] static bool KnowsSize(const ChunkEncoding& encoding, const ChunkLocation& location);

  /// In bytes, exact. kDamaged, reported once per stored object, if the stored bytes cannot be a
  /// chunk; kStale if the object is no longer the version of `location`.
  [[nodiscard]] Result<uint64_t> Size(const ChunkFile& file);

  struct Piece {
    std::span<const std::byte> bytes;
    std::shared_ptr<const Bytes> owner;  // of the bytes, unless they are in the buffer
  };
  /// The bytes from `offset` on, at most buffer.size(), fewer only at the end. Fails like Size(),
  /// also if the stored bytes do not decode to the size that the metadata promise.
  [[nodiscard]] Result<Piece> Read(const ChunkFile& file, uint64_t offset,
                                   std::span<std::byte> buffer);

  /// All elements of a stored chunk as the codecs decode them, each of a fixed size. Fails like
  /// Read(). `reuse`: kNever does not cache it.
  [[nodiscard]] Result<std::shared_ptr<const Bytes>> Elements(const ChunkSource& source,
                                                              InnerIndex chunk,
                                                              const ChunkLocation& location,
                                                              Reuse reuse = Reuse::kLikely);

  /// All texts of a stored chunk, of variable length, as items of `type`, a TextType(). Fails like
  /// Read(); kStale if one is longer.
  [[nodiscard]] Result<std::shared_ptr<const Bytes>> Texts(const ChunkSource& source,
                                                           InnerIndex chunk,
                                                           const ChunkLocation& location,
                                                           const DataType& type,
                                                           Reuse reuse = Reuse::kLikely);

  /// Elements assembled from many chunks: the run that begins at element `first` of the array, for
  /// a version of a file whose number the caller knows. Cached like decoded chunks.
  struct Window {
    const ChunkSource& source;
    uint64_t version;
    uint64_t first;
    uint64_t bytes;
  };
  /// Bytes and their memory share.
  struct Made {
    Bytes bytes;
    MemoryBudget::Share memory;
  };
  /// Null if it is not cached.
  [[nodiscard]] std::shared_ptr<const Bytes> Find(const Window& window);
  /// The cached window, or that of `make`. Threads that want the same window wait for the one that
  /// makes it.
  [[nodiscard]] Result<std::shared_ptr<const Bytes>> Get(const Window& window,
                                                         const std::function<Result<Made>()>& make);
  void Drop(const Window& window) { cache_.Erase(KeyOf(window)); }
  /// Maximum bytes of decoded chunks in the cache.
  [[nodiscard]] uint64_t capacity() const { return cache_.capacity(); }

  /// Evicts down to the new capacity immediately.
  void SetCapacity(size_t capacity) {
    cache_.SetCapacity(ranges_ ? capacity / 2 : capacity);
    if (ranges_) ranges_->SetCapacity(capacity / 2);
  }
  /// Drops a chunk larger than the whole cache if it was not read since the last call.
  void Sweep() { cache_.SweepLatestLarge(); }
  /// Memory is short: evicts chunks of `bytes`, or all chunks.
  void GiveUp(size_t bytes);

  [[nodiscard]] CacheStatistics statistics() const;

 private:
  static constexpr size_t kSplits = 4;
  // The encoding number of a window, which no file has.
  static constexpr uint32_t kWindow = UINT32_MAX - 1;
  struct Key {
    uint64_t source;
    InnerIndex chunk;      // of a window: its first element
    uint64_t fingerprint;  // of a window: the version
    uint32_t encoding;
    bool operator==(const Key&) const = default;
  };
  struct KeyHash {
    size_t operator()(const Key& key) const {
      return HashFields(key.source, ToNumber(key.chunk), key.fingerprint, key.encoding);
    }
  };
  using Cache = LruCache<Key, Bytes, KeyHash>;

  // The file, about to be read.
  ChunkFile Wanted(ChunkFile file, uint64_t offset = 0);
  // The decoded form for `file.encoding_number`: made by `texts`, items of that type, or otherwise
  // by the encoding.
  Result<std::shared_ptr<const Bytes>> Decoded(const ChunkFile& file,
                                               const DataType* texts = nullptr,
                                               Reuse reuse = Reuse::kLikely);
  static Key KeyOf(const Window& window) {
    return {window.source.id(), InnerIndex{window.first}, window.version, kWindow};
  }

  // `beside`: overhead of the cache entry in bytes.
  static Cache::Loaded Keep(Made made, size_t beside);

  std::unique_ptr<StoredRanges> ranges_;
  OnWanted on_wanted_;
  ChunkCheck check_;
  Cache cache_;
};

}  // namespace zarrfs
