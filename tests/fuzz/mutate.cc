// Mutated input: takes stores, damages a metadata document or a stored object at random, and does
// with the result all that a mount does: every node, every view's files, every listing, every chunk
// located, read and decoded. Nothing may crash or hang (sanitizers watch), no range may leave its
// object, and a shard whose checksummed index was damaged may give errors but never other ranges
// than before.
//
//   mutate_test SECONDS STORE-FOLDER… [--seed N]
//
// Each folder is a store, or holds stores. Ends with "N passed, M failed" in inputs.

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/unit/support/fake_store.h"
#include "zarrcore/array/chunk_cursor.h"
#include "zarrcore/view/hierarchy.h"

namespace zarrfs {
namespace {

constexpr size_t kMaxStoreBytes = 256 << 10;
constexpr int kMaxChunks = 400;
constexpr std::chrono::seconds kSlow{10};

using Objects = std::map<std::string, std::string>;

struct Seed {
  std::string name;
  Objects objects;
};

std::optional<Objects> ReadStore(const std::filesystem::path& folder) {
  Objects objects;
  size_t total = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    std::ifstream file(entry.path(), std::ios::binary);
    std::stringstream bytes;
    bytes << file.rdbuf();
    total += bytes.str().size();
    if (total > kMaxStoreBytes) return std::nullopt;
    objects[std::filesystem::relative(entry.path(), folder).string()] = bytes.str();
  }
  return objects;
}

void CollectSeeds(const std::filesystem::path& folder, std::vector<Seed>& seeds) {
  for (const std::string_view name : {kZarrJson, kZarray, kZgroup}) {
    if (!std::filesystem::exists(folder / name)) continue;
    if (auto objects = ReadStore(folder)) seeds.push_back({folder.string(), std::move(*objects)});
    return;
  }
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.is_directory()) CollectSeeds(entry.path(), seeds);
  }
}

// What was found in a store: the bytes of each chunk that has a place, by array and chunk.
struct Found {
  std::map<std::pair<std::string, uint64_t>, std::string> chunks;
  bool damage = false;
};

struct Failure {
  std::string what;
};

// Visits all that a mount would show. Throws Failure for what must never be.
void Walk(const Hierarchy& hierarchy, const std::string& path, int depth, int& budget,
          Found& found) {
  const auto node = hierarchy.Get(path, Age{0});
  if (!node || depth > 8) return;
  const auto again = hierarchy.Get(path, kAnyAge);
  if (!again) throw Failure{path + ": a node was not kept"};
  if ((*node)->group() != nullptr) {
    const auto children = hierarchy.Children(**node, Age{0});
    if (!children) return;
    for (const std::string& child : children->value) {
      Walk(hierarchy, JoinKey(path, child), depth + 1, budget, found);
    }
    return;
  }
  const auto& source = (*node)->chunks;
  if (source == nullptr) return;
  const ArrayLayout& layout = source->layout();
  if (layout.inner_grid.size() == 0) return;
  const auto outers = source->ListOuter({});
  if (!outers) return;
  if (layout.inner_grid.rank() > 0) (void)source->NextCoordinates({}, kAnyAge);
  for (const OuterIndex outer : outers->value) {
    ChunkCursor cursor(*source, outer);
    while (const StoredChunk* next = cursor.Next()) {
      const auto& [slot, chunk, place] = *next;
      const auto located = source->Locate(chunk, kAnyAge);
      if (place.has_value() != (located && located->location)) {
        throw Failure{path + ": listing and look-up disagree on a chunk"};
      }
      if (!place) found.damage = true;
      if (place) {
        const uint64_t size = place->shard->info.size();
        // (A decoded object may be longer than the stored one.)
        if (!place->shard->is_in_memory &&
            (place->offset > size || place->length > size - place->offset)) {
          throw Failure{path + ": a chunk lies outside its object"};
        }
        Bytes bytes(place->length);
        if (place->shard->object == nullptr) {
          if (--budget <= 0) return;
          continue;
        }
        if (const auto read = place->shard->object->Read(place->offset, bytes); !read) {
          throw Failure{path + ": a chunk inside its object cannot be read"};
        }
        found.chunks[{path, ToNumber(chunk)}].assign(reinterpret_cast<const char*>(bytes.data()),
                                                     bytes.size());
        if (layout.inner_pipeline && layout.inner_pipeline->decoded_size() < (64u << 20)) {
          const auto decoded = layout.inner_pipeline->Decode(bytes);
          if (decoded && decoded->size() != layout.inner_pipeline->decoded_size()) {
            throw Failure{path + ": a chunk decoded to a wrong size"};
          }
        }
      }
      if (--budget <= 0) return;
    }
  }
}

Found WalkStore(const Objects& objects) {
  auto store = std::make_shared<FakeStore>();
  for (const auto& [key, bytes] : objects) store->Put(key, bytes);
  const Hierarchy hierarchy(store, HierarchyOptions{.index_cache_bytes = 1u << 20}, {});
  Found found;
  int budget = kMaxChunks;
  Walk(hierarchy, "", 0, budget, found);
  return found;
}

class Mutator {
 public:
  explicit Mutator(uint64_t seed) : random_(seed) {}

  uint64_t Below(uint64_t n) { return n == 0 ? 0 : random_() % n; }

  void Mutate(std::string& bytes, bool is_json) {
    const uint64_t changes = 1 + Below(4);
    for (uint64_t i = 0; i < changes; ++i) {
      const size_t at = Below(bytes.size() + 1);
      switch (Below(is_json ? 8 : 6)) {
        case 0:
          if (at < bytes.size()) bytes[at] = static_cast<char>(bytes[at] ^ (1 << Below(8)));
          break;
        case 1:
          if (at < bytes.size()) bytes[at] = static_cast<char>(random_());
          break;
        case 2:
          bytes.resize(at);
          break;
        case 3:
          bytes.erase(at, 1 + Below(16));
          break;
        case 4:
          bytes.insert(at, bytes.substr(Below(bytes.size() + 1), 1 + Below(32)));
          break;
        case 5:
          for (size_t k = at; k < std::min(at + 8, bytes.size()); ++k) {
            bytes[k] = static_cast<char>(Below(2) == 0 ? 0xff : 0);
          }
          break;
        case 6:
          ReplaceNumber(bytes, at);
          break;
        default:
          ReplaceValue(bytes, at);
      }
    }
  }

 private:
  // Structure-aware: a number becomes another, a value one of another type.
  void ReplaceNumber(std::string& text, size_t from) {
    static const std::vector<std::string> kNumbers = {"0",
                                                      "1",
                                                      "-1",
                                                      "2",
                                                      "3",
                                                      "7",
                                                      "1.0",
                                                      "1e3",
                                                      "2147483648",
                                                      "4294967296",
                                                      "64",
                                                      "9223372036854775807",
                                                      "1e400",
                                                      "18446744073709551615",
                                                      "18446744073709551616",
                                                      "1000000000000",
                                                      "NaN"};
    Replace(text, from, "0123456789", "0123456789.eE+-", kNumbers[Below(kNumbers.size())]);
  }
  void ReplaceValue(std::string& text, size_t from) {
    static const std::vector<std::string> kValues = {"null",
                                                     "true",
                                                     "[]",
                                                     "{}",
                                                     "\"\"",
                                                     "[[[]]]",
                                                     "\"sharding_indexed\"",
                                                     "\"transpose\"",
                                                     "\"gzip\"",
                                                     "\"crc32c\"",
                                                     "\"bytes\"",
                                                     "\"big\"",
                                                     "\"start\"",
                                                     "\"float64\"",
                                                     "\"r24\"",
                                                     "\"v2\"",
                                                     "\".\"",
                                                     "\"\\u0000\"",
                                                     "{\"name\": \"zstd\"}",
                                                     "[1, 2]"};
    Replace(text, from, "\"[{tfn", "abcdefghijklmnopqrstuvwxyz_\"", kValues[Below(kValues.size())]);
  }
  static void Replace(std::string& text, size_t from, const char* first, const char* rest,
                      const std::string& with) {
    const size_t begin = text.find_first_of(first, from);
    if (begin == std::string::npos) return;
    size_t end = text.find_first_not_of(rest, begin + 1);
    if (end == std::string::npos) end = text.size();
    text.replace(begin, end - begin, with);
  }

  std::mt19937_64 random_;
};

bool HasIndexChecksum(const Objects& objects) {
  // Every array of the store: one level of sharding whose index ends in a crc32c.
  for (const auto& [key, text] : objects) {
    if (key.ends_with(kZarray)) return false;
    if (!key.ends_with(kZarrJson)) continue;
    const auto parsed = ParseZarrJson(text, key);
    const auto* array = parsed ? std::get_if<ArrayMetadata>(&*parsed) : nullptr;
    if (array == nullptr) continue;
    if (array->codecs.size() != 1 || array->codecs[0].name != "sharding_indexed") return false;
    const Json& index = array->codecs[0].configuration["index_codecs"];
    if (index.empty() || !index.back().is_object() || index.back()["name"] != "crc32c")
      return false;
  }
  return true;
}

int Run(int seconds, const std::vector<Seed>& seeds, uint64_t first_seed) {
  std::vector<Found> before;
  std::vector<bool> checked;
  for (const Seed& seed : seeds) {
    before.push_back(WalkStore(seed.objects));
    // (Of a damaged seed, inserted bytes may bring a range back inside the shard.)
    checked.push_back(HasIndexChecksum(seed.objects) && !before.back().damage);
  }
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  uint64_t passed = 0;
  uint64_t failed = 0;
  for (uint64_t n = first_seed; std::chrono::steady_clock::now() < end; ++n) {
    Mutator mutator(n);
    const size_t which = mutator.Below(seeds.size());
    Objects objects = seeds[which].objects;
    auto victim = std::next(objects.begin(), static_cast<ptrdiff_t>(mutator.Below(objects.size())));
    const bool is_json =
        std::ranges::any_of(std::array{kZarrJson, kZarray, kZgroup, kZattrs},
                            [&](std::string_view name) { return victim->first.ends_with(name); });
    mutator.Mutate(victim->second, is_json);
    const auto start = std::chrono::steady_clock::now();
    try {
      const Found found = WalkStore(objects);
      if (!is_json && checked[which]) {
        // The index still holds, or it does not; either way a chunk is the bytes at its old place.
        for (const auto& [chunk, bytes] : found.chunks) {
          const auto old = before[which].chunks.find(chunk);
          if (old == before[which].chunks.end() || old->second.size() != bytes.size()) {
            throw Failure{chunk.first + ": a chunk has another size than before the damage"};
          }
        }
      }
      if (std::chrono::steady_clock::now() - start > kSlow) throw Failure{"took over 10 s"};
      ++passed;
    } catch (const Failure& failure) {
      ++failed;
      std::printf("seed %llu, store %s, object %s: %s\n", static_cast<unsigned long long>(n),
                  seeds[which].name.c_str(), victim->first.c_str(), failure.what.c_str());
    }
  }
  std::printf("%llu passed, %llu failed\n", static_cast<unsigned long long>(passed),
              static_cast<unsigned long long>(failed));
  return failed == 0 ? 0 : 1;
}

}  // namespace
}  // namespace zarrfs

int main(int argc, char** argv) {
  int seconds = argc > 1 ? std::atoi(argv[1]) : 0;
  uint64_t first_seed = 1;
  std::vector<zarrfs::Seed> seeds;
  for (int i = 2; i < argc; ++i) {
    if (std::string(argv[i]) == "--seed" && i + 1 < argc) {
      first_seed = std::strtoull(argv[++i], nullptr, 10);
    } else {
      zarrfs::CollectSeeds(argv[i], seeds);
    }
  }
  if (seconds <= 0 || seeds.empty()) {
    std::fputs("usage: mutate_test SECONDS STORE-FOLDER… [--seed N]\n", stderr);
    return 1;
  }
  return zarrfs::Run(seconds, seeds, first_seed);
}
