// Benchmarks of the parts of a request, each alone and without the kernel. Takes the options of
// Google Benchmark.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "fs/ids/node_table.h"
#include "zarrcore/array/shard_index.h"
#include "zarrcore/base/lru_cache.h"
#include "zarrcore/codec/codec.h"
#include "zarrcore/hierarchy/hierarchy.h"
#include "zarrcore/kerchunk/reference_set.h"
#include "zarrcore/local/local_store.h"

namespace zarrfs {
namespace {

constexpr uint64_t kChunks = 32'768;  // per shard

// The value of `result`. Exits with a message if it is an error.
template <typename T>
T Need(Result<T> result) {
  if (result) return *std::move(result);
  fmt::print(stderr, "micro: {}\n", result.error().message);
  std::exit(1);
}

// The encoded index of `count` consecutive chunks of one byte each.
Bytes EncodedIndex(uint64_t count, const ShardIndexSpec& spec) {
  std::vector<uint64_t> numbers;
  for (uint64_t i = 0; i < count; ++i) numbers.insert(numbers.end(), {i, 1});
  return Need(spec.pipeline().Encode(std::as_bytes(std::span(numbers))));
}

ShardIndexSpec IndexSpec(uint64_t count) {
  const std::vector<CodecSpec> codecs = {{.name = "bytes", .configuration = {{"endian", "little"}}},
                                         {.name = "crc32c"}};
  return Need(ShardIndexSpec::Make(std::vector{count}, codecs, /*at_end=*/true));
}

// A local store with an array "data" of one shard, in a temporary folder.
class Store {
 public:
  Store() {
    std::string folder = (std::filesystem::temp_directory_path() / "zarrfs-micro.XXXXXX").string();
    if (mkdtemp(folder.data()) == nullptr) std::exit(1);
    folder_ = folder;
    std::filesystem::create_directories(folder_ / "data" / "c");
    std::ofstream(folder_ / "zarr.json") << R"({"zarr_format": 3, "node_type": "group"})";
    std::ofstream(folder_ / "data" / "zarr.json") << fmt::format(
        R"({{"zarr_format": 3, "node_type": "array", "shape": [{0}], "data_type": "uint8",
        "chunk_grid": {{"name": "regular", "configuration": {{"chunk_shape": [{0}]}}}},
        "chunk_key_encoding": {{"name": "default"}}, "fill_value": 0, "codecs": [{{
          "name": "sharding_indexed", "configuration": {{"chunk_shape": [1],
          "codecs": [{{"name": "bytes"}}], "index_codecs": [{{"name": "bytes",
          "configuration": {{"endian": "little"}}}}, {{"name": "crc32c"}}]}}}}]}})",
        kChunks);
    const Bytes index = EncodedIndex(kChunks, IndexSpec(kChunks));
    std::ofstream shard(folder_ / "data" / "c" / "0", std::ios::binary);
    shard << std::string(kChunks, 'x');
    shard.write(reinterpret_cast<const char*>(index.data()),
                static_cast<std::streamsize>(index.size()));
  }
  ~Store() { std::filesystem::remove_all(folder_); }
  [[nodiscard]] std::string path() const { return folder_.string(); }

 private:
  std::filesystem::path folder_;
};

void DecodeIndex(benchmark::State& state) {
  const auto count = static_cast<uint64_t>(state.range(0));
  const ShardIndexSpec spec = IndexSpec(count);
  const Bytes encoded = EncodedIndex(count, spec);
  for (auto _ : state) benchmark::DoNotOptimize(Need(ShardIndex::Decode(encoded, spec, 1 << 30)));
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(encoded.size()));
}
BENCHMARK(DecodeIndex)->Arg(kChunks)->Arg(1'000'000);

void FindInIndex(benchmark::State& state) {
  const ShardIndexSpec spec = IndexSpec(kChunks);
  const ShardIndex index = Need(ShardIndex::Decode(EncodedIndex(kChunks, spec), spec, 1 << 30));
  std::minstd_rand random;
  for (auto _ : state) benchmark::DoNotOptimize(Need(index.Find(random() % kChunks)));
}
BENCHMARK(FindInIndex);

void ParseName(benchmark::State& state) {
  const ChunkNaming naming;
  const std::vector<uint64_t> counts = {1000, 1000, 1000};
  for (auto _ : state) {
    ChunkCoordinates at{};
    size_t level = 0;
    benchmark::DoNotOptimize(naming.Parse(counts, "12.345.678", /*in_array=*/true, at, level));
  }
}
BENCHMARK(ParseName);

void CacheHit(benchmark::State& state) {
  LruCache<uint64_t, int> cache(1 << 20);
  for (uint64_t key = 0; key < 1000; ++key) {
    Need(cache.GetOrLoad(key, [] {
      return Result<LruCache<uint64_t, int>::Loaded>({std::make_shared<const int>(1), 1});
    }));
  }
  uint64_t key = 0;
  for (auto _ : state) benchmark::DoNotOptimize(cache.Get(key = (key + 1) % 1000));
}
BENCHMARK(CacheHit);

struct Opened {
  Store folder;
  Hierarchy hierarchy{Need(OpenLocalStore(folder.path(), {})), HierarchyOptions{}, {}};
  NodePtr node = Need(hierarchy.Get("data", kAnyAge));
};

void LocateChunk(benchmark::State& state) {
  const Opened opened;
  std::minstd_rand random;
  for (auto _ : state) {
    benchmark::DoNotOptimize(
        Need(opened.node->chunks->Locate(InnerIndex{random() % kChunks}, kAnyAge)));
  }
}
BENCHMARK(LocateChunk);

void ResolveId(benchmark::State& state) {
  const Opened opened;
  IdJournal journal;
  NodeTable table(1, journal);
  const CurrentNode seen = Need(table.Refresh(opened.node));
  const uint64_t first = seen.range->views[0].files;
  std::minstd_rand random;
  for (auto _ : state) {
    benchmark::DoNotOptimize(table.Resolve(MakeId(first + random() % kChunks, 0)));
  }
}
BENCHMARK(ResolveId);

// Decodes a chunk of 32x32x32 16-bit numbers with noise like that of an instrument.
void Transcode(benchmark::State& state, const std::vector<CodecSpec>& codecs) {
  const ChunkSpec chunk{Need(ParseDataType(Json("uint16"), "micro")), {32, 32, 32}};
  const Pipeline pipeline = Need(Pipeline::Make(codecs, chunk));
  std::vector<uint16_t> numbers(32 * 32 * 32);
  std::minstd_rand random;
  for (uint16_t& number : numbers) number = static_cast<uint16_t>(8000 + random() % 64);
  const Bytes encoded = Need(pipeline.Encode(std::as_bytes(std::span(numbers))));
  for (auto _ : state) benchmark::DoNotOptimize(Need(pipeline.Decode(encoded)));
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(pipeline.decoded_size()));
}
const CodecSpec kBytes{.name = "bytes", .configuration = {{"endian", "little"}}};
BENCHMARK_CAPTURE(Transcode, zstd, {kBytes, {.name = "zstd", .configuration = {{"level", 3}}}});
BENCHMARK_CAPTURE(Transcode, gzip, {kBytes, {.name = "gzip", .configuration = {{"level", 5}}}});
BENCHMARK_CAPTURE(Transcode, transpose,
                  {{.name = "transpose", .configuration = {{"order", {2u, 0u, 1u}}}}, kBytes});

// A file with a kerchunk set of 10^6 references: all to one file, or ten to each file.
class ReferenceSetFile {
 public:
  explicit ReferenceSetFile(bool is_one_file) {
    std::string folder = (std::filesystem::temp_directory_path() / "zarrfs-micro.XXXXXX").string();
    if (mkdtemp(folder.data()) == nullptr) std::exit(1);
    folder_ = folder;
    std::ofstream file(folder_ / "x.json");
    file << R"({"version": 1, "refs": {".zgroup": "{}")";
    for (int i = 0; i < kReferences; ++i) {
      const std::string address =
          is_one_file
              ? "/data/nc/all.nc"
              : fmt::format(
                    "s3://noaa-goes16/ABI-L2-SSTF/2020/{:05}/OR_ABI-L2-SSTF-M6_G16_{:08}.nc",
                    i / 240, i / 10);
      file << fmt::format(R"(, "t/{}": ["{}", {}, {}])", i, address, 1000 * (i % 5000),
                          900 + i % 977);
    }
    file << "}}";
  }
  ~ReferenceSetFile() { std::filesystem::remove_all(folder_); }
  [[nodiscard]] std::shared_ptr<const KerchunkReferenceSet> Read() const {
    return Need(KerchunkReferenceSet::Read(*Need(OpenLocalStore(folder_.string())), "x.json"));
  }

  static constexpr int kReferences = 1'000'000;

 private:
  std::filesystem::path folder_;
};

void ReadReferenceSet(benchmark::State& state) {
  const ReferenceSetFile file(state.range(0) == 1);
  for (auto _ : state) {
    const uint64_t before = ProcessMemory().used();
    const auto set = file.Read();
    state.counters["MB"] = static_cast<double>(ProcessMemory().used() - before) / 1e6;
  }
}
BENCHMARK(ReadReferenceSet)->ArgName("one file")->Arg(1)->Arg(0)->Unit(benchmark::kMillisecond);

void FindReference(benchmark::State& state) {
  const auto set = ReferenceSetFile(state.range(0) == 1).Read();
  std::mt19937 random(1);
  std::uniform_int_distribution<int> number(0, ReferenceSetFile::kReferences - 1);
  for (auto _ : state) {
    const auto found = set->Find(fmt::format("t/{}", number(random)));
    if (!found) state.SkipWithError("not found");
    benchmark::DoNotOptimize(set->LocationOf(*found));
  }
}
BENCHMARK(FindReference)->ArgName("one file")->Arg(1)->Arg(0);

}  // namespace
}  // namespace zarrfs

BENCHMARK_MAIN();
