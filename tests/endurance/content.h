// Contents of chunks that identify themselves: a header states the chunk, the version of its shard
// and the length. Every byte follows from these, so any part of a chunk can be checked.
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

/// The size of the header at the start of each chunk, and the minimum size of a chunk.
inline constexpr uint64_t kHeaderBytes = 24;

/// The size of a version of a chunk in bytes, up to several MiB; 0 if the version lacks the chunk.
/// The chunk in the upper left corner of a shard is never missing.
[[nodiscard]] uint64_t SizeOf(const ChunkAt& at, uint64_t version);

[[nodiscard]] std::string ContentOf(const ChunkAt& at, uint64_t version);

/// The version in the header of the chunk, from whose start `bytes` were read; nullopt if the
/// header is not valid for the chunk.
[[nodiscard]] std::optional<uint64_t> VersionIn(const ChunkAt& at, std::span<const char> bytes);

struct Difference {
  uint64_t offset = 0;           // the offset of the first wrong byte in the chunk
  std::optional<uint64_t> from;  // another version that has the bytes found, if any
};

/// Compares `bytes`, which were read from `offset` in the chunk on, with the version. nullopt if
/// they are equal.
[[nodiscard]] std::optional<Difference> Compare(const ChunkAt& at, uint64_t version,
                                                uint64_t offset, std::span<const char> bytes);

}  // namespace zarrfs
