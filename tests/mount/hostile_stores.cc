#include "tests/mount/hostile_stores.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <fstream>

#include "zarrcore/codec/registry.h"

namespace zarrfs {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kBytes = R"({"name": "bytes"})";

void Write(const fs::path& path, std::string_view text) {
  fs::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << text;
}

void WriteRoot(const fs::path& store) {
  Write(store / "zarr.json", R"({"zarr_format": 3, "node_type": "group"})");
}

// Writes an array of uint8. `members`: members of its zarr.json to add or replace.
void WriteArray(const fs::path& array, uint64_t length, uint64_t chunk, std::string_view codecs,
                const Json& members = Json::object()) {
  Json json = *ParseJson(fmt::format(R"({{"zarr_format": 3, "node_type": "array", "shape": [{}],
          "data_type": "uint8", "fill_value": 0,
          "chunk_grid": {{"name": "regular", "configuration": {{"chunk_shape": [{}]}}}},
          "chunk_key_encoding": {{"name": "default"}}, "codecs": [{}]}})",
                                     length, chunk, codecs),
                         "literal");
  for (const auto& [name, value] : members.items()) json[name] = value;
  Write(array / "zarr.json", DumpJson(json));
}

std::string TextOfBytes(const Bytes& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// A zstd frame that does not state its decoded size. It has `blocks` blocks of four bytes, each of
// which decodes to 128 KiB of zeros.
std::string ZstdOfZeros(uint64_t blocks) {
  std::string frame("\x28\xb5\x2f\xfd\x00\x38", 6);
  for (uint64_t i = 0; i < blocks; ++i) {
    const bool is_last = i + 1 == blocks;
    frame += is_last ? '\x03' : '\x02';  // an RLE block; its size, 128 KiB, begins at bit 3
    frame += std::string("\x00\x10\x00", 3);
  }
  return frame;
}

constexpr uint64_t kZstdBlock = 128 << 10;

std::string GzipOfZeros(uint64_t size) {
  const auto codec = MakeGzipCodec(CodecSpec{"gzip"});
  return TextOfBytes(*(*codec)->Encode(Bytes(size)));
}

// A chunk that decodes to 1 GiB, and one that decodes to 128 MiB.
void WriteBombs(const fs::path& store) {
  WriteRoot(store);
  constexpr uint64_t kHuge = 1 << 30;
  WriteArray(store / "huge", kHuge, kHuge, R"({"name": "bytes"}, {"name": "zstd"})");
  Write(store / "huge/c/0", ZstdOfZeros(kHuge / kZstdBlock));
  constexpr uint64_t kLarge = 128 << 20;
  WriteArray(store / "large", kLarge, kLarge, R"({"name": "bytes"}, {"name": "zstd"})");
  Write(store / "large/c/0", ZstdOfZeros(kLarge / kZstdBlock));
}

constexpr int kManyChunks = 16;

// Chunks that fit into memory one by one, but not all at once.
void WriteManyLarge(const fs::path& store) {
  WriteRoot(store);
  constexpr uint64_t kChunk = 100 << 20;
  WriteArray(store / "a", kChunk * kManyChunks, kChunk, R"({"name": "bytes"}, {"name": "gzip"})");
  const std::string encoded = GzipOfZeros(kChunk);
  for (int i = 0; i < kManyChunks; ++i) Write(store / "a/c" / std::to_string(i), encoded);
}

// 64 codecs, each of which keeps its input and its output in memory.
void WriteManyCodecs(const fs::path& store) {
  WriteRoot(store);
  constexpr uint64_t kChunk = 32 << 20;
  std::string codecs(kBytes);
  for (int i = 0; i < 62; ++i) {
    codecs += R"(, {"name": "numcodecs.shuffle", "configuration": {"elementsize": 4}})";
  }
  WriteArray(store / "a", kChunk, kChunk, codecs + R"(, {"name": "zstd"})");
  Write(store / "a/c/0", ZstdOfZeros(kChunk / kZstdBlock));
}

// Sparse files: a shard index of 2^26 chunks, and one of 2^22.
void WriteLargeIndexes(const fs::path& store) {
  WriteRoot(store);
  for (const auto& [name, slots] : {std::pair("huge", 1u << 26), std::pair("large", 1u << 22)}) {
    WriteArray(store / name, slots, slots,
               fmt::format(R"({{"name": "sharding_indexed", "configuration": {{"chunk_shape": [1],
                   "codecs": [{}], "index_codecs": [{{"name": "bytes",
                   "configuration": {{"endian": "little"}}}}]}}}})",
                           kBytes));
    const fs::path shard = store / name / "c/0";
    Write(shard, "x");
    fs::resize_file(shard, uint64_t{slots} * 16 + 1);
    std::fstream file(shard, std::ios::binary | std::ios::in | std::ios::out);
    file.seekp(1 + 8);
    file.put(1);  // chunk 0: one byte at 0
  }
}

// Two million values in 6 MB of text, nested in 200 lists.
void WriteLargeMetadata(const fs::path& store) {
  WriteRoot(store);
  std::string values = "0";
  for (int i = 0; i < 2'000'000; ++i) values += ",[]";
  for (int i = 0; i < 200; ++i) values = "[" + values + "]";
  Write(store / "a/zarr.json",
        fmt::format(R"({{"zarr_format": 3, "node_type": "array", "shape": [1],
          "data_type": "uint8", "fill_value": 0,
          "chunk_grid": {{"name": "regular", "configuration": {{"chunk_shape": [1]}}}},
          "chunk_key_encoding": {{"name": "default"}}, "codecs": [{}],
          "attributes": {{"x": {}}}}})",
                    kBytes, values));
  Write(store / "a/c/0", "x");
}

constexpr int kManyFills = 3;

// Chunks that are not stored have files of their own: an encoded chunk of 60 MiB for each array.
void WriteFills(const fs::path& store) {
  WriteRoot(store);
  constexpr uint64_t kChunk = 60 << 20;
  for (int i = 0; i < kManyFills; ++i) {
    WriteArray(store / fmt::format("a{}", i), kChunk, kChunk,
               R"({"name": "bytes"}, {"name": "blosc", "configuration": {"cname": "lz4",
                   "clevel": 0, "shuffle": "noshuffle", "typesize": 1, "blocksize": 0}})",
               {{"fill_value", 1}, {"dimension_names", {"x"}}});
  }
}

constexpr int kManyArrays = 200;

// 20 MB of consolidated metadata, of arrays that are small enough one by one.
void WriteConsolidated(const fs::path& store) {
  WriteRoot(store);
  const Json attributes = {{"attributes", {{"x", std::string(100'000, 'x')}}}};
  for (int i = 0; i < kManyArrays; ++i) {
    WriteArray(store / fmt::format("a{}", i), 1, 1, kBytes, attributes);
  }
}

// Strings in a zstd frame that does not state its decoded size, which is 1 GiB.
void WriteRecoded(const fs::path& store) {
  WriteRoot(store);
  WriteArray(store / "a", 1, 1, R"({"name": "vlen-utf8"}, {"name": "zstd"})",
             {{"data_type", "string"}, {"fill_value", ""}});
  Write(store / "a/c/0", ZstdOfZeros((uint64_t{1} << 30) / kZstdBlock));
}

// Attributes with very many members. A linear search for each of them would take too long.
void WriteManyMembers(const fs::path& store) {
  WriteRoot(store);
  constexpr int kMembers = 1 << 18;
  std::string attributes = "{";
  for (int i = 0; i < kMembers; ++i)
    attributes += fmt::format("{}\"k{}\": 0", i == 0 ? "" : ",", i);
  WriteArray(store / "a", 1, 1, kBytes);
  std::string text = ReadFile(store / "a/zarr.json");
  text.replace(text.rfind('}'), 1, ", \"attributes\": " + attributes + "}}");
  Write(store / "a/zarr.json", text);
}

// A document of 60 MB of numbers.
void WriteZeros(const fs::path& store) {
  WriteRoot(store);
  std::string zeros = "[0";
  for (int i = 0; i < 30'000'000; ++i) zeros += ",0";
  Write(store / "a/zarr.json",
        R"({"zarr_format": 3, "node_type": "group", "attributes": {"x": )" + zeros + "]}}");
}

// Three levels of shards, with 2^27 chunks in total.
void WriteNestedShards(const fs::path& store) {
  WriteRoot(store);
  std::string codecs(kBytes);
  for (const uint64_t chunk : {1u, 1u << 9, 1u << 18}) {
    codecs = fmt::format(R"({{"name": "sharding_indexed", "configuration": {{"chunk_shape": [{}],
                 "codecs": [{}], "index_codecs": [{{"name": "bytes",
                 "configuration": {{"endian": "little"}}}}]}}}})",
                         chunk, codecs);
  }
  WriteArray(store / "a", 1 << 27, 1 << 27, codecs);
  Write(store / "a/c/0", std::string(1 << 20, '\0'));
}

// Special files in the place of regular files.
void WriteSpecialFiles(const fs::path& store) {
  WriteRoot(store);
  fs::create_directory(store / "a");
  mkfifo((store / "a/zarr.json").c_str(), 0644);
  WriteArray(store / "b", 2, 1, kBytes);
  fs::create_directories(store / "b/c");
  mkfifo((store / "b/c/0").c_str(), 0644);
  fs::create_symlink("/dev/zero", store / "b/c/1");
}

std::vector<HostileFile> Numbered(std::string_view pattern, int count, int error = 0) {
  std::vector<HostileFile> files;
  for (int i = 0; i < count; ++i) {
    files.push_back({fmt::format(fmt::runtime(pattern), i), error});
  }
  return files;
}

}  // namespace

const std::vector<HostileStore>& HostileStores() {
  static const std::vector<HostileStore> stores = {
      {"Bombs", WriteBombs, {{"netcdf/huge/0", EFBIG}, {"netcdf/large/0"}}},
      {"ManyLargeChunks", WriteManyLarge, Numbered("netcdf/a/{}", kManyChunks), Seconds(40)},
      {"ManyCodecs", WriteManyCodecs, {{"netcdf/a/0"}}, Seconds(120)},
      {"LargeIndexes", WriteLargeIndexes, {{"v3/huge/c/0", EFBIG}, {"v3/large/c/0"}}},
      {"LargeMetadata", WriteLargeMetadata, {{"v2/a/.zarray", EFBIG}}, Seconds(120)},
      {"FillChunks", WriteFills, Numbered("v2/a{}/0", kManyFills), Seconds(120)},
      {"Consolidated", WriteConsolidated, {{"v2/.zmetadata"}, {"v2/a199/.zattrs"}}, Seconds(120)},
      {"Recoded", WriteRecoded, {{"v2/a/0", EFBIG}}},
      {"ManyMembers", WriteManyMembers, {{"v2/a/.zattrs"}, {"netcdf/a/.zattrs"}}, Seconds(60)},
      {"Zeros", WriteZeros, {{"v2/a/.zattrs", EFBIG}}, Seconds(60)},
      {"NestedShards", WriteNestedShards, {{"v3/a/zarr.json", ENOENT}, {"v3/a/c/0", ENOENT}}},
      {"SpecialFiles",
       WriteSpecialFiles,
       {{"v2/a/0", EIO}, {"v3/a/zarr.json", EIO}, {"v2/b/0", EOPNOTSUPP}, {"v2/b/1", EIO}}},
  };
  return stores;
}

}  // namespace zarrfs
