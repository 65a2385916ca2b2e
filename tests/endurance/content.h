// The bytes of chunks that say themselves what they are: which chunk, of which version of its
// shard, how long. Every byte follows from these, so that any part of a chunk can be checked.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace zarrfs {

struct ChunkAt {
  uint32_t array = 0;
  uint32_t row = 0;
  uint32_t column = 0;
};

/// What every chunk begins with, and the size of the smallest.
inline constexpr uint64_t kHeaderBytes = 24;

/// The bytes that a version of a chunk has, some of them several MiB; 0: the version lacks it. The
/// chunk in the upper left corner of a shard is never lacking.
[[nodiscard]] uint64_t SizeOf(const ChunkAt& at, uint64_t version);

[[nodiscard]] std::string ContentOf(const ChunkAt& at, uint64_t version);

/// The version that `bytes`, from the front of the chunk, say they are of.
[[nodiscard]] std::optional<uint64_t> VersionIn(const ChunkAt& at, std::span<const char> bytes);

struct Difference {
  uint64_t offset = 0;           // of the first wrong byte, in the chunk
  std::optional<uint64_t> from;  // the other version that has what is there, if one has
};

/// Where `bytes`, from `offset` of the chunk, are not those of the version.
[[nodiscard]] std::optional<Difference> Compare(const ChunkAt& at, uint64_t version,
                                                uint64_t offset, std::span<const char> bytes);

}  // namespace zarrfs
