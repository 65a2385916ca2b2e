// Encodes the index of a shard that zarrctl writes.
#pragma once

#include <cstdint>
#include <span>

#include "zarrcore/array/shard_index.h"
#include "zarrcore/codec/codec.h"

namespace zarrfs::ctl {

/// The index entry of a chunk that a shard does not contain.
inline constexpr ChunkRange kMissingChunk = {~uint64_t{0}, ~uint64_t{0}};

/// Returns the index at the end of a shard, with the index codecs "bytes" (little-endian) and
/// "crc32c": offset and length of each chunk, and the checksum.
[[nodiscard]] Bytes EncodeShardIndex(std::span<const ChunkRange> ranges);

}  // namespace zarrfs::ctl
