// DecodedChunks: chunks in decoded form, each decoded once and kept within a budget of memory.
// Thread-safe; threads that want the same chunk wait for the one that decodes it.
#ifndef ZARRCORE_ARRAY_DECODED_CHUNKS_H_
#define ZARRCORE_ARRAY_DECODED_CHUNKS_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "zarrcore/array/chunk_source.h"
#include "zarrcore/base/lru_cache.h"
#include "zarrcore/base/result.h"
#include "zarrcore/codec/codec.h"

namespace zarrfs {

class DecodedChunks {
 public:
  /// `budget`: bytes of decoded chunks that are kept; one that is larger is kept as long as no
  /// other takes its place.
  explicit DecodedChunks(size_t budget) : cache_(budget, kSplits) {}

  /// The elements of innermost chunk `chunk` at `place`, in C order and little-endian:
  /// layout().inner_pipeline->decoded_size() bytes. kDamaged, reported once a stored object, if
  /// what is stored does not decode to that; kStale if it is not the version of `place` any more.
  [[nodiscard]] Result<std::shared_ptr<const Bytes>> Get(const ChunkSource& source, uint64_t chunk,
                                                         const ChunkPlace& place);

  [[nodiscard]] CacheStatistics statistics() const { return cache_.statistics(); }

 private:
  // Few, so that each has room for large chunks.
  static constexpr size_t kSplits = 4;
  struct Key {
    uint64_t source;
    uint64_t chunk;
    uint64_t fingerprint;
    bool operator==(const Key&) const = default;
  };
  struct KeyHash {
    size_t operator()(const Key& key) const {
      uint64_t h = (key.source * 0x9e3779b97f4a7c15ULL ^ key.chunk) * 0xd6e8feb86659fd93ULL;
      h = (h ^ (h >> 32) ^ key.fingerprint) * 0xd6e8feb86659fd93ULL;
      return static_cast<size_t>(h ^ (h >> 32));
    }
  };
  LruCache<Key, Bytes, KeyHash> cache_;
};

}  // namespace zarrfs

#endif  // ZARRCORE_ARRAY_DECODED_CHUNKS_H_
