// ChunkReader: reads the bytes of chunk files in every ChunkEncoding. Thread-safe.
//
// A chunk that must be decoded is decoded once, in memory reserved from ProcessMemory(), and
// cached. Threads that need the same chunk wait for the thread that decodes it. Other bytes are
// read from the stored objects or, in slow stores, from cached stored chunks. Checksums that are
// left out of a chunk file are verified; see ChunkCheck.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <utility>

#include "zarrcore/array/chunk_source.h"
#include "zarrcore/base/credit.h"
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

/// Whether decoded chunks are likely to be read again.
enum class Reuse { kLikely, kNever };

class ChunkReader {
 public:
  /// `capacity`: size of the cache of decoded chunks, in bytes. One chunk that exceeds this size is
  /// also cached, until another such chunk is read or Sweep() finds it unused. `is_slow`: true if
  /// the store is slow. Half of the capacity is then used for stored bytes.
  explicit ChunkReader(size_t capacity, bool is_slow = false)
      : cache_(is_slow ? capacity / 2 : capacity, kSplits) {
    cache_.KeepLatestLarge();
    if (is_slow) ranges_ = std::make_unique<StoredRanges>(capacity / 2);
  }

  /// Sets a function that is called when a reader reads a chunk of a slow store from the beginning
  /// of the chunk. The function is called before the chunk is fetched, on the reader's thread,
  /// possibly several times per chunk, and must not wait. Call TellOfWanted() before any other
  /// function.
  using OnWanted = std::function<void(const ChunkFile& file)>;
  void TellOfWanted(OnWanted on_wanted) { on_wanted_ = std::move(on_wanted); }
  /// The cache of stored bytes; null if the store is not slow.
  [[nodiscard]] StoredRanges* ranges() const { return ranges_.get(); }

  /// True if Size() can answer without reading the chunk.
  [[nodiscard]] static bool KnowsSize(const ChunkEncoding& encoding, const ChunkLocation& location);

  /// Returns the exact size of a chunk file in bytes. Fails with kDamaged if the stored bytes
  /// cannot be a chunk; the damage is reported once per version of the stored object. Fails with
  /// kStale if the stored object is no longer the version in file.location.
  [[nodiscard]] Result<uint64_t> Size(const ChunkFile& file);

  struct Piece {
    std::span<const std::byte> bytes;
    std::shared_ptr<const Bytes> owner;  // owns `bytes`; null if the caller's buffer has them
  };
  /// Returns buffer.size() bytes of a chunk file from `offset` on, or fewer at the end of the file.
  /// Returns the errors of Size(), and an error if the stored bytes do not decode to the size that
  /// follows from the metadata.
  [[nodiscard]] Result<Piece> Read(const ChunkFile& file, uint64_t offset,
                                   std::span<std::byte> buffer);

  /// Returns all elements of a stored chunk as the codecs decode them. The elements must have a
  /// fixed size. Returns the errors of Read(). If `reuse` is kNever, the elements are not cached.
  [[nodiscard]] Result<std::shared_ptr<const Bytes>> Elements(const ChunkSource& source,
                                                              InnerIndex chunk,
                                                              const ChunkLocation& location,
                                                              Reuse reuse = Reuse::kLikely);

  /// Returns all strings of a stored chunk of variable-length strings, converted to items of
  /// `type`, a fixed-size type from TextType(). Returns the errors of Read(), and kStale if a
  /// string does not fit in an item.
  [[nodiscard]] Result<std::shared_ptr<const Bytes>> Texts(const ChunkSource& source,
                                                           InnerIndex chunk,
                                                           const ChunkLocation& location,
                                                           const DataType& type,
                                                           Reuse reuse = Reuse::kLikely);

  /// A run of elements assembled from many chunks, starting at element `first` of the array.
  /// `version` is a number that the caller assigns to a version of the file that contains the
  /// elements. Windows are cached like decoded chunks.
  struct Window {
    const ChunkSource& source;
    uint64_t version;
    uint64_t first;
    uint64_t bytes;
  };
  /// Bytes, and their share of the memory budget.
  struct Made {
    Bytes bytes;
    MemoryBudget::Share memory;
  };
  /// Returns the cached window, or null.
  [[nodiscard]] std::shared_ptr<const Bytes> Find(const Window& window);
  /// Returns the cached window, or makes it with `make` and caches it. Threads that need the same
  /// window wait for the thread that makes it. Fails with kUnsupported if a window of another size
  /// is cached.
  [[nodiscard]] Result<std::shared_ptr<const Bytes>> Get(const Window& window,
                                                         const std::function<Result<Made>()>& make);
  void Drop(const Window& window) { cache_.Erase(KeyOf(window)); }
  /// Maximum number of bytes of decoded chunks in the cache.
  [[nodiscard]] uint64_t capacity() const { return cache_.capacity(); }

  /// Sets the capacity, and evicts down to the new capacity immediately.
  void SetCapacity(size_t capacity) {
    cache_.SetCapacity(ranges_ ? capacity / 2 : capacity);
    if (ranges_) ranges_->SetCapacity(capacity / 2);
  }
  /// Evicts a chunk larger than the whole cache if it has not been read since the last call.
  void Sweep() { cache_.SweepLatestLarge(); }
  /// Evicts chunks until `bytes` bytes are freed or none are left. Called when memory is short.
  void Evict(size_t bytes);

  [[nodiscard]] CacheStatistics statistics() const;

 private:
  static constexpr size_t kSplits = 4;
  // Maximum total size, in bytes, of chunks that were fetched to find their sizes but not read yet.
  static constexpr int64_t kUnread = 16 << 20;
  // The value of Key::encoding for windows. No chunk file has this encoding number.
  static constexpr uint32_t kWindow = UINT32_MAX - 1;
  struct Key {
    uint64_t source;
    InnerIndex chunk;      // for a window, its first element
    uint64_t fingerprint;  // for a window, its version
    uint32_t encoding;
    bool operator==(const Key&) const = default;
  };
  struct KeyHash {
    size_t operator()(const Key& key) const {
      return HashFields(key.source, ToNumber(key.chunk), key.fingerprint, key.encoding);
    }
  };
  using Cache = LruCache<Key, Bytes, KeyHash>;

  // True if a chunk whose size is needed will probably also be read. The whole chunk is then
  // fetched, although its first bytes determine the size.
  bool WillBeRead(const ChunkFile& file);
  // Prepares a read of a chunk file from `offset` on: sets ChunkFile::ranges, and calls on_wanted_
  // if `offset` is 0.
  ChunkFile Wanted(ChunkFile file, uint64_t offset = 0);
  // Returns the decoded chunk for file.encoding_number from the cache, or decodes it. If `texts` is
  // not null, converts strings to items of that type; otherwise, converts elements to the file's
  // encoding.
  Result<std::shared_ptr<const Bytes>> Decoded(const ChunkFile& file,
                                               const DataType* texts = nullptr,
                                               Reuse reuse = Reuse::kLikely);
  static Key KeyOf(const Window& window) {
    return {window.source.id(), InnerIndex{window.first}, window.version, kWindow};
  }

  // Makes a cache entry of `made`. `beside`: the overhead of the entry in bytes.
  static Cache::Loaded Keep(Made made, size_t beside);

  std::unique_ptr<StoredRanges> ranges_;
  OnWanted on_wanted_;
  // Limits how many bytes of chunks are fetched from slow stores when only the size of a chunk is
  // needed. Reading chunks restores the credit.
  Credit size_credit_{kUnread};
  ChunkCheck check_;
  Cache cache_;
};

}  // namespace zarrfs
