// Stores for the tests, written byte by byte: what a mount shows can be compared with what was put
// in, without any code of the reading side.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace zarrfs {

using Shape = std::vector<uint64_t>;

/// The encoded chunks of one shard, by their row-major number in the shard.
using Chunks = std::map<uint64_t, std::string>;

/// An array of bytes (uint8). With `compressed`, its chunks claim to be gzip: a view that passes
/// bytes on serves whatever they are, of any size.
struct SampleArray {
  Shape shape;
  Shape shard;
  Shape chunk;
  bool compressed = true;
  bool checksums = false;  // crc32c after each chunk
  std::string attributes = "{}";

  [[nodiscard]] uint64_t chunks_per_shard() const;
  [[nodiscard]] std::string ZarrJson() const;
};

/// {"zarr_format": 3, "node_type": "group", "attributes": {}}
[[nodiscard]] std::string GroupJson();

/// A shard: the chunks in order, then the index ("Binary shard format", index at the end, crc32c).
[[nodiscard]] std::string EncodeShard(uint64_t chunks_per_shard, const Chunks& chunks);

/// `bytes` with their crc32c behind them.
[[nodiscard]] std::string WithChecksum(std::string bytes);

/// The tests' own reading of a shard's bytes.
[[nodiscard]] Chunks DecodeShard(uint64_t chunks_per_shard, const std::string& shard);

/// Writes another file and renames it over `path`, as careful writers do. Creates folders.
void Replace(const std::filesystem::path& path, const std::string& bytes);

/// Other bytes in the same file.
void RewriteInPlace(const std::filesystem::path& path, const std::string& bytes);

/// One group "" with one array "a" of 4 x 4 chunks in 2 x 2 shards, shard 1/1 absent:
///
///   0.0 0.1 | 0.2  -        sizes 1, 511, 512, 513 and 5000 bytes; "-" is a missing chunk
///    -  1.1 | 1.2  -
///   --------+--------
///    -  2.1 |
///   3.0  -  |
///
/// Its chunks by coordinates: {"0.0", "…"}.
[[nodiscard]] std::map<std::string, std::string> WriteSampleStore(
    const std::filesystem::path& store);

/// That array.
[[nodiscard]] SampleArray SampleArrayOfStore();

/// `size` bytes that differ from those of every other `seed`.
[[nodiscard]] std::string Pattern(size_t size, uint64_t seed);

}  // namespace zarrfs
