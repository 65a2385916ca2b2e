#include "tests/endurance/content.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace zarrfs {
namespace {

constexpr uint64_t kMagic = 0x5a46;
constexpr uint64_t kWord = sizeof(uint64_t);
constexpr uint64_t kOtherVersions =
    200;  // how many earlier and later versions are searched for wrong bytes

// The finisher of splitmix64.
constexpr uint64_t Mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

uint64_t NameOf(const ChunkAt& at) {
  return kMagic << 48 | uint64_t{at.array} << 32 | uint64_t{at.row} << 16 | at.column;
}

uint64_t SeedOf(const ChunkAt& at, uint64_t version) { return Mix(NameOf(at) ^ Mix(version)); }

// Fills `out` with the bytes of the chunk from `offset` on.
void Fill(const ChunkAt& at, uint64_t version, uint64_t offset, std::span<char> out) {
  const uint64_t seed = SeedOf(at, version);
  const std::array<uint64_t, 3> header = {NameOf(at), version, SizeOf(at, version)};
  size_t done = 0;
  for (uint64_t word = offset / kWord; done < out.size(); ++word) {
    const uint64_t value = word < header.size() ? header[word] : Mix(seed + word);
    const size_t skip = done == 0 ? offset % kWord : 0;
    const size_t length = std::min<size_t>(kWord - skip, out.size() - done);
    std::memcpy(out.data() + done, reinterpret_cast<const char*>(&value) + skip, length);
    done += length;
  }
}

std::optional<uint64_t> FirstDifference(const ChunkAt& at, uint64_t version, uint64_t offset,
                                        std::span<const char> bytes) {
  std::array<char, 32768> block;
  for (size_t done = 0; done < bytes.size();) {
    const std::span<char> wanted(block.data(), std::min(block.size(), bytes.size() - done));
    Fill(at, version, offset + done, wanted);
    if (std::memcmp(wanted.data(), bytes.data() + done, wanted.size()) != 0) {
      const auto [mine, theirs] = std::ranges::mismatch(wanted, bytes.subspan(done));
      return offset + done + static_cast<uint64_t>(mine - wanted.begin());
    }
    done += wanted.size();
  }
  return std::nullopt;
}

}  // namespace

uint64_t SizeOf(const ChunkAt& at, uint64_t version) {
  const uint64_t random = SeedOf(at, version);
  const bool corner = at.row % 2 == 0 && at.column % 2 == 0;
  if (!corner && random % 8 == 0) return 0;
  uint64_t most = 8 << 10;
  if (random / 8 % 10 == 0) most = 200 << 10;
  if (random / 8 % 64 == 1) most = 5 << 20;
  return kHeaderBytes + random / 1024 % most;
}

std::string ContentOf(const ChunkAt& at, uint64_t version) {
  std::string bytes(SizeOf(at, version), '\0');
  Fill(at, version, 0, bytes);
  return bytes;
}

std::optional<uint64_t> VersionIn(const ChunkAt& at, std::span<const char> bytes) {
  std::array<uint64_t, 3> header{};
  if (bytes.size() < sizeof(header)) return std::nullopt;
  std::memcpy(header.data(), bytes.data(), sizeof(header));
  if (header[0] != NameOf(at) || header[2] != SizeOf(at, header[1])) return std::nullopt;
  return header[1];
}

std::optional<Difference> Compare(const ChunkAt& at, uint64_t version, uint64_t offset,
                                  std::span<const char> bytes) {
  const auto wrong = FirstDifference(at, version, offset, bytes);
  if (!wrong) return std::nullopt;
  Difference difference{.offset = *wrong, .from = std::nullopt};
  const auto rest = bytes.subspan(*wrong - offset);
  const auto some = rest.first(std::min<size_t>(rest.size(), 2 * kWord));
  const uint64_t first = version > kOtherVersions ? version - kOtherVersions : 1;
  for (uint64_t other = first; some.size() > kWord && other <= version + kOtherVersions; ++other) {
    if (!FirstDifference(at, other, *wrong, some)) difference.from = other;
  }
  return difference;
}

}  // namespace zarrfs
