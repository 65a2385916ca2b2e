// Input: two bytes that choose the index codecs and the size of pieces, two bytes with the size of
// the shard, then the entries as little-endian numbers. The target encodes the entries, because no
// fuzzer guesses a checksum.
#include "zarrcore/array/shard_index.h"

#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include "tests/fuzz/fuzzing.h"
#include "zarrcore/base/byte_order.h"

namespace zarrfs {
namespace {

constexpr size_t kHeader = 4;

void CheckEntries(const ShardIndex& index, BytesView entries, uint64_t shard_size) {
  for (uint64_t i = 0; i < index.entries(); ++i) {
    const auto offset = LoadLittle<uint64_t>(&entries[16 * i]);
    const auto length = LoadLittle<uint64_t>(&entries[16 * i + 8]);
    const bool is_missing = offset == ~uint64_t{0} && length == ~uint64_t{0};
    Require(index.IsMissing(i) == is_missing, "only entries of all ones to be missing");
    const auto found = index.Find(i);
    const bool is_inside = length > 0 && offset <= shard_size && length <= shard_size - offset;
    Require(found.has_value() == (is_missing || is_inside), "only chunks inside the shard");
    if (!found) continue;
    Require(found->has_value() == !is_missing, "no chunk for a missing entry");
    if (*found) Require(**found == ChunkRange{offset, length}, "the range that was stored");
  }
}

void DecodeIndex(std::span<const uint8_t> input) {
  const std::array chains = {
      std::vector<CodecSpec>{{"bytes", Json{{"endian", "little"}}}},
      std::vector<CodecSpec>{{"bytes", Json{{"endian", "little"}}}, {"crc32c"}},
      std::vector<CodecSpec>{{"bytes", Json{{"endian", "big"}}}},
      std::vector<CodecSpec>{
          {"transpose", Json{{"order", {1, 0}}}}, {"bytes", Json{{"endian", "big"}}}, {"crc32c"}},
  };
  const auto& chain = chains[input[0] % chains.size()];
  const size_t piece = size_t{1} + input[1];
  const uint64_t shard_size = input[2] + 256U * input[3];
  const BytesView entries = std::as_bytes(input.subspan(kHeader, (input.size() - kHeader) & ~15U));

  const std::array counts = {uint64_t{entries.size() / 16}};
  const auto spec = ShardIndexSpec::Make(counts, chain, /*at_end=*/true);
  if (!spec) return;
  auto encoded = spec->pipeline().Encode(entries);
  RequireOk(encoded, "any entries to be encoded");
  Require(encoded->size() == spec->encoded_size(), "the promised size");

  const auto index = ShardIndex::Decode(*encoded, *spec, shard_size);
  RequireOk(index, "what was encoded to be decoded");
  CheckEntries(*index, entries, shard_size);

  ShardIndex::Decoder decoder(*spec, shard_size);
  for (BytesView rest = *encoded; !rest.empty();
       rest = rest.subspan(std::min(piece, rest.size()))) {
    decoder.Take(rest.first(std::min(piece, rest.size())));
  }
  const auto in_pieces = decoder.Finish();
  RequireOk(in_pieces, "the same in pieces");
  CheckEntries(*in_pieces, entries, shard_size);

  // The raw input, which nearly always has a wrong size or checksum.
  (void)ShardIndex::Decode(std::as_bytes(input), *spec, shard_size);
}

}  // namespace
}  // namespace zarrfs

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size >= zarrfs::kHeader + 16) zarrfs::DecodeIndex({data, size});
  return 0;
}
