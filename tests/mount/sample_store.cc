#include "tests/mount/sample_store.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstring>
#include <fstream>
#include <span>

#include "zarrcore/base/crc32c.h"

namespace zarrfs {
namespace {

constexpr uint64_t kMissing = ~uint64_t{0};

void AppendLittleEndian(std::string& out, uint64_t value, size_t bytes) {
  for (size_t i = 0; i < bytes; ++i) out += static_cast<char>(value >> (8 * i) & 0xff);
}

uint64_t LittleEndian(const char* bytes) {
  uint64_t value = 0;
  for (size_t i = 8; i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[i]);
  return value;
}

std::string List(const Shape& shape) { return fmt::format("[{}]", fmt::join(shape, ", ")); }

}  // namespace

uint64_t SampleArray::chunks_per_shard() const {
  uint64_t count = 1;
  for (size_t d = 0; d < shape.size(); ++d) count *= shard[d] / chunk[d];
  return count;
}

std::string SampleArray::ZarrJson() const {
  std::string codecs = R"({"name": "bytes"})";
  if (compressed) codecs += R"(, {"name": "gzip", "configuration": {"level": 1}})";
  if (checksums) codecs += R"(, {"name": "crc32c"})";
  return fmt::format(
      R"({{"zarr_format": 3, "node_type": "array", "shape": {}, "data_type": "uint8",
"chunk_grid": {{"name": "regular", "configuration": {{"chunk_shape": {}}}}},
"chunk_key_encoding": {{"name": "default", "configuration": {{"separator": "/"}}}},
"fill_value": 0, "attributes": {},
"codecs": [{{"name": "sharding_indexed", "configuration": {{"chunk_shape": {}, "codecs": [{}],
"index_codecs": [{{"name": "bytes", "configuration": {{"endian": "little"}}}}, {{"name": "crc32c"}}],
"index_location": "end"}}}}]}})",
      List(shape), List(shard), attributes, List(chunk), codecs);
}

std::string GroupJson() { return R"({"zarr_format": 3, "node_type": "group", "attributes": {}})"; }

std::string WithChecksum(std::string bytes) {
  AppendLittleEndian(bytes, Crc32c(std::as_bytes(std::span(bytes))), 4);
  return bytes;
}

std::string EncodeShard(uint64_t chunks_per_shard, const Chunks& chunks) {
  std::string shard;
  std::string index;
  for (uint64_t i = 0; i < chunks_per_shard; ++i) {
    const auto chunk = chunks.find(i);
    const bool present = chunk != chunks.end();
    AppendLittleEndian(index, present ? shard.size() : kMissing, 8);
    AppendLittleEndian(index, present ? chunk->second.size() : kMissing, 8);
    if (present) shard += chunk->second;
  }
  AppendLittleEndian(index, Crc32c(std::as_bytes(std::span(index))), 4);
  return shard + index;
}

Chunks DecodeShard(uint64_t chunks_per_shard, const std::string& shard) {
  Chunks chunks;
  const char* index = shard.data() + shard.size() - 4 - 16 * chunks_per_shard;
  for (uint64_t i = 0; i < chunks_per_shard; ++i) {
    const uint64_t offset = LittleEndian(index + 16 * i);
    const uint64_t length = LittleEndian(index + 16 * i + 8);
    if (offset != kMissing) chunks[i] = shard.substr(offset, length);
  }
  return chunks;
}

void Replace(const std::filesystem::path& path, const std::string& bytes) {
  std::filesystem::create_directories(path.parent_path());
  const std::filesystem::path other = path.string() + ".partial";
  std::ofstream(other, std::ios::binary) << bytes;
  std::filesystem::rename(other, path);
}

void RewriteInPlace(const std::filesystem::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

SampleArray SampleArrayOfStore() {
  return SampleArray{
      .shape = {40, 40}, .shard = {20, 20}, .chunk = {10, 10}, .attributes = R"({"unit": "K"})"};
}

std::map<std::string, std::string> WriteSampleStore(const std::filesystem::path& store) {
  std::map<std::string, std::string> chunks = {{"0.0", Pattern(1, 1)},    {"0.1", Pattern(511, 2)},
                                               {"0.2", Pattern(512, 3)},  {"1.1", Pattern(513, 4)},
                                               {"1.2", Pattern(5000, 5)}, {"2.1", Pattern(5000, 6)},
                                               {"3.0", Pattern(512, 7)}};
  Replace(store / "zarr.json", GroupJson());
  Replace(store / "a/zarr.json", SampleArrayOfStore().ZarrJson());
  Replace(store / "a/c/0/0",
          EncodeShard(4, {{0, chunks["0.0"]}, {1, chunks["0.1"]}, {3, chunks["1.1"]}}));
  Replace(store / "a/c/0/1", EncodeShard(4, {{0, chunks["0.2"]}, {2, chunks["1.2"]}}));
  Replace(store / "a/c/1/0", EncodeShard(4, {{1, chunks["2.1"]}, {2, chunks["3.0"]}}));
  return chunks;
}

std::string Pattern(size_t size, uint64_t seed) {
  std::string bytes(size, '\0');
  uint64_t state = seed * 0x9e3779b97f4a7c15ULL + 1;
  for (char& byte : bytes) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    byte = static_cast<char>(state >> 56);
  }
  return bytes;
}

}  // namespace zarrfs
