#include "zarrcore/array/decoded_chunks.h"

#include <new>
#include <utility>

namespace zarrfs {
namespace {

Result<Bytes> Decode(const ChunkSource& source, const ChunkPlace& place) try {
  const auto& pipeline = source.layout().inner_pipeline;
  if (!pipeline) return Fail(pipeline);
  const auto damaged = [&](const Error& error) -> Result<Bytes> {
    return tl::unexpected(source.Damage(place.outer, *place.shard, error));
  };
  // (What an index promises may be any number.)
  if (place.length > pipeline->max_encoded_size()) {
    return damaged({ErrorCode::kDamaged,
                    fmt::format("a chunk of {} bytes, of which none can have more than {}",
                                place.length, pipeline->max_encoded_size())});
  }
  Bytes encoded(place.length);
  if (const auto read = place.shard->object->Read(place.offset, encoded); !read) return Fail(read);
  auto decoded = pipeline->Decode(encoded);
  if (!decoded && decoded.error().code != ErrorCode::kTooLarge) return damaged(decoded.error());
  return decoded;
} catch (const std::bad_alloc&) {
  return Fail(ErrorCode::kTooLarge, "{}: no memory to decode a chunk",
              source.ObjectKey(place.outer));
}

}  // namespace

Result<std::shared_ptr<const Bytes>> DecodedChunks::Get(const ChunkSource& source, uint64_t chunk,
                                                        const ChunkPlace& place) {
  const Key key{source.id(), chunk, place.shard->fingerprint};
  return cache_.GetOrLoad(key, [&]() -> Result<LruCache<Key, Bytes, KeyHash>::Loaded> {
    auto decoded = Decode(source, place);
    if (!decoded) return Fail(decoded);
    const size_t size = decoded->size();
    return LruCache<Key, Bytes, KeyHash>::Loaded{std::make_shared<const Bytes>(std::move(*decoded)),
                                                 size};
  });
}

}  // namespace zarrfs
