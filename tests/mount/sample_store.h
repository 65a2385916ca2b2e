// Writes stores for the tests, byte by byte. So tests can compare what a mount shows with what was
// written, without using code that reads stores.
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

/// An array of type uint8. With `compressed`, its codec is gzip, although its chunks may have any
/// bytes and any size. Views that pass chunks through serve these bytes.
struct SampleArray {
  Shape shape;
  Shape shard;
  Shape chunk;
  bool compressed = true;
  bool checksums = false;  // true if a crc32c follows each chunk
  std::string attributes = "{}";

  [[nodiscard]] uint64_t chunks_per_shard() const;
  [[nodiscard]] std::string ZarrJson() const;
};

/// {"zarr_format": 3, "node_type": "group", "attributes": {}}
[[nodiscard]] std::string GroupJson();

/// Encodes a shard: the chunks in order, then the index ("Binary shard format", index at the end,
/// crc32c).
[[nodiscard]] std::string EncodeShard(uint64_t chunks_per_shard, const Chunks& chunks);

/// `bytes`, followed by their crc32c.
[[nodiscard]] std::string WithChecksum(std::string bytes);

/// Decodes a shard, independently of the code under test.
[[nodiscard]] Chunks DecodeShard(uint64_t chunks_per_shard, const std::string& shard);

/// Writes another file and renames it to `path`, as careful writers do. Creates parent folders.
void Replace(const std::filesystem::path& path, const std::string& bytes);

/// Replaces the bytes of a file in place.
void RewriteInPlace(const std::filesystem::path& path, const std::string& bytes);

/// Writes a root group with one array "a" of 4 x 4 chunks in 2 x 2 shards. Shard 1/1 is absent:
///
///   0.0 0.1 | 0.2  -        sizes 1, 511, 512, 513 and 5000 bytes; "-" is a missing chunk
///    -  1.1 | 1.2  -
///   --------+--------
///    -  2.1 |
///   3.0  -  |
///
/// Returns the chunks by coordinates: {"0.0", "…"}.
[[nodiscard]] std::map<std::string, std::string> WriteSampleStore(
    const std::filesystem::path& store);

/// The array of WriteSampleStore().
[[nodiscard]] SampleArray SampleArrayOfStore();

/// `size` pseudorandom bytes, different for each `seed`.
[[nodiscard]] std::string Pattern(size_t size, uint64_t seed);

}  // namespace zarrfs
