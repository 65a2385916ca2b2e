#include "zarrcore/content/chunk_file.h"

namespace zarrfs {

Result<void> ReadChunk(const ChunkFile& file, uint64_t offset, std::span<std::byte> out) {
  const OpenShard& shard = *file.location.shard;
  if (file.ranges != nullptr && !shard.is_in_memory && !file.source.IsRacy(shard)) {
    return file.ranges->Read(file.source, file.location, offset, out);
  }
  return shard.object->Read(file.location.offset + offset, out);
}

tl::unexpected<Error> Damaged(const ChunkFile& file, const Error& error) {
  return tl::unexpected(file.source.Damage(file.location.outer, *file.location.shard, error));
}

}  // namespace zarrfs
