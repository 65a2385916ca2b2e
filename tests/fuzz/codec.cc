// Input: a line of JSON with members "data_type", "shape" (of the chunk) and "codecs" as in a
// zarr.json, then an encoded chunk. To make a seed from a stored chunk:
//
//   echo '{"data_type": "uint16", "shape": [4], "codecs": ["bytes", "zstd"]}' | cat - array/c/0
#include "zarrcore/codec/codec.h"

#include <algorithm>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/fuzz/fuzzing.h"
#include "zarrcore/base/checked.h"
#include "zarrcore/codec/vlen.h"
#include "zarrcore/codec/zstd_frame.h"

namespace zarrfs {
namespace {

constexpr uint64_t kMaxDecoded = 64u << 10;
constexpr size_t kFew = 5;  // in bytes

struct Chain {
  std::vector<CodecSpec> codecs;
  ChunkSpec chunk;
};

Result<Chain> ParseChain(std::string_view line) {
  const auto document = ParseJson(line, "chain");
  if (!document) return Fail(document);
  auto type = ParseDataType(MemberOrNull(*document, "data_type"), "chain");
  if (!type) return Fail(type);
  auto codecs = ParseCodecs(MemberOrNull(*document, "codecs"), "chain");
  if (!codecs) return Fail(codecs);
  ChunkSpec chunk{.data_type = std::move(*type), .shape = {}};
  for (const Json& extent : MemberOrNull(*document, "shape")) {
    if (!extent.is_number_unsigned() || chunk.shape.size() == kMaxRank) {
      return Fail(ErrorCode::kInvalidArgument, "shape");
    }
    chunk.shape.push_back(extent.get<uint64_t>());
  }
  return Chain{std::move(*codecs), std::move(chunk)};
}

// Checks how a zstd chunk is served to readers that do not support every zstd frame.
void ServeFrames(BytesView encoded, const Pipeline& pipeline) {
  const uint64_t size = pipeline.decoded_size();
  const auto read = [&](uint64_t offset, std::span<std::byte> to) -> Result<void> {
    Require(offset <= encoded.size() && to.size() <= encoded.size() - offset, "bytes of the chunk");
    std::ranges::copy(encoded.subspan(offset, to.size()), to.begin());
    return {};
  };
  const auto bound = ZstdDecodedBound(encoded, kMaxDecoded);
  const auto decoded = pipeline.Decode(encoded);
  Require(!decoded || (bound && *bound >= decoded->size()), "a bound of what it decodes to");
  const auto serving = ServeZstd(encoded.size(), size, read);
  if (!serving || serving->kind != ZstdServing::Kind::kPatch) return;
  Bytes patched = PatchZstdHeader(
      Bytes(encoded.begin(), encoded.begin() + static_cast<ptrdiff_t>(serving->replaced)), size);
  Require(patched.size() == serving->patched_size(), "a header of the promised size");
  patched.insert(patched.end(), encoded.begin() + static_cast<ptrdiff_t>(serving->replaced),
                 encoded.end());
  const auto again = pipeline.Decode(patched);
  Require(!decoded || (again && *again == *decoded), "the same elements");
}

// Decodes strings to items of the size that the longest string needs, and to items that are too
// small.
void DecodeTexts(const VlenChain& chain, BytesView encoded) {
  const Bytes bytes(encoded.begin(), encoded.end());
  const auto range = chain.RangeOfTexts(bytes);
  if (!range) {
    Require(!chain.DecodeTexts(bytes, TextItems::kUtf8, 1), "the same damage");
    return;
  }
  Require(range->characters <= range->bytes, "no more characters than bytes");
  for (const TextItems items : {TextItems::kUtf8, TextItems::kUtf32}) {
    const uint64_t length = items == TextItems::kUtf8 ? range->bytes : range->characters;
    const size_t size = TextType(items, length).item_size;
    if (length == 0 || size * chain.count() > kMaxDecoded) continue;
    const auto decoded = chain.DecodeTexts(bytes, items, size);
    RequireOk(decoded, "texts to have room");
    Require(decoded->size() == size * chain.count(), "an item for each text");
    Require(!chain.DecodeTexts(bytes, items, size / length * (length - 1)), "too little room");
  }
}

void DecodeChunk(std::string_view input) {
  const auto chain = ParseChain(CutAt(input, "\n"));
  if (!chain) return;
  const BytesView bytes = std::as_bytes(std::span(input));
  if (VlenChain::IsOne(chain->codecs)) {
    const auto vlen = VlenChain::Make(chain->codecs, chain->chunk);
    if (!vlen) return;
    if (vlen->CanDecodeTexts()) DecodeTexts(*vlen, bytes);
    if (!vlen->Check(Bytes(bytes.begin(), bytes.end()))) return;
    for (size_t missing = 1; missing <= std::min(kFew, bytes.size()); ++missing) {
      const BytesView cut = bytes.first(bytes.size() - missing);
      const bool is_right = vlen->Check(Bytes(cut.begin(), cut.end())).has_value();
      Require(!is_right || chain->codecs.size() > 1, "elements that end early to be damaged");
    }
    return;
  }
  const auto pipeline = Pipeline::Make(chain->codecs, chain->chunk);
  if (!pipeline || pipeline->decoded_size() > kMaxDecoded) return;
  const uint64_t promised = pipeline->decoded_size();
  (void)pipeline->MemoryToDecode(bytes.size());
  const bool is_plain_zstd = chain->codecs.size() == 2 && chain->codecs[0].name == "bytes" &&
                             chain->codecs[1].name == "zstd" && promised > 0;
  if (is_plain_zstd) ServeFrames(bytes, *pipeline);

  const auto decoded = pipeline->Decode(bytes);
  if (decoded) {
    Require(promised == 0 || decoded->size() == promised, "a chunk of the promised size");
  }
  // A decoded chunk can be encoded, and the result decoded. Some codecs cannot encode, and some
  // cannot represent all values.
  const auto encoded = pipeline->Encode(decoded ? *decoded : Bytes(promised));
  if (!encoded) return;
  if (pipeline->encoded_size()) Require(encoded->size() == *pipeline->encoded_size(), "its size");
  const auto again = pipeline->Decode(*encoded);
  RequireOk(again, "what was encoded to be decoded");
  Require(promised == 0 || again->size() == promised, "again the promised size");
  // A valid chunk cut to its first few bytes, or without its last few bytes.
  const BytesView all = *encoded;
  for (size_t few = 0; few <= std::min(kFew, all.size()); ++few) {
    for (const BytesView part : {all.first(few), all.first(all.size() - few)}) {
      const auto cut = pipeline->Decode(part);
      Require(promised == 0 || !cut || cut->size() == promised, "all of a chunk, or an error");
    }
  }
}

}  // namespace
}  // namespace zarrfs

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  zarrfs::DecodeChunk(zarrfs::Text(data, size));
  return 0;
}
