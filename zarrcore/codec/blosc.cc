#include "zarrcore/codec/blosc.h"

#include <blosc.h>

#include <algorithm>
#include <array>
#include <limits>

#include "zarrcore/base/byte_order.h"
#include "zarrcore/base/checked.h"
#include "zarrcore/codec/configuration.h"

namespace zarrfs {
namespace {

constexpr std::array<std::string_view, 6> kCompressors = {"blosclz", "lz4",  "lz4hc",
                                                          "snappy",  "zlib", "zstd"};
constexpr std::array<std::string_view, 3> kShuffles = {"noshuffle", "shuffle", "bitshuffle"};
static_assert(BLOSC_NOSHUFFLE == 0 && BLOSC_SHUFFLE == 1 && BLOSC_BITSHUFFLE == 2);

constexpr int kThreads = 1;  // the caller's own

// The frame header: version, version of the compressor's format, flags, type size, and three
// little-endian int32: decoded bytes, block bytes, encoded bytes with the header.
constexpr uint8_t kFlagCopied = 0x02;
constexpr uint8_t kFlagReserved = 0x08;
constexpr uint8_t kLastFormat = 4;  // blosclz, lz4, snappy, zlib, zstd
constexpr size_t kBlockOffsetSize = 4;

struct FrameSizes {
  uint64_t decoded;
  uint64_t encoded;
};

// Everything that the library reads from a header, within what the input and `limit` allow.
Result<FrameSizes> CheckHeader(BytesView frame, uint64_t limit) {
  if (frame.size() < BLOSC_MIN_HEADER_LENGTH) {
    return Fail(ErrorCode::kDamaged, "blosc: expected at least {} bytes, found {}",
                BLOSC_MIN_HEADER_LENGTH, frame.size());
  }
  const auto version = std::to_integer<int>(frame[0]);
  const auto flags = std::to_integer<uint8_t>(frame[2]);
  const auto type_size = std::to_integer<int>(frame[3]);
  const uint32_t decoded = LoadLittle<uint32_t>(frame.data() + 4);
  const uint32_t block = LoadLittle<uint32_t>(frame.data() + 8);
  const uint32_t encoded = LoadLittle<uint32_t>(frame.data() + 12);
  if (version != BLOSC_VERSION_FORMAT || (flags & kFlagReserved) != 0 ||
      (flags >> 5) > kLastFormat) {
    return Fail(ErrorCode::kDamaged, "blosc: header of version {}, flags 0x{:02x} is not known",
                version, flags);
  }
  if (encoded < BLOSC_MIN_HEADER_LENGTH || encoded > frame.size()) {
    return Fail(ErrorCode::kDamaged, "blosc: header states {} encoded bytes, found {}", encoded,
                frame.size());
  }
  if (decoded > limit || decoded > static_cast<uint32_t>(BLOSC_MAX_BUFFERSIZE)) {
    return Fail(ErrorCode::kDamaged, "blosc: header states {} decoded bytes, expected at most {}",
                decoded, limit);
  }
  // Working memory is some multiple of a block.
  if (type_size == 0 || block == 0 || block > std::max<uint32_t>(decoded, 1) ||
      block > static_cast<uint32_t>(BLOSC_MAX_BLOCKSIZE)) {
    return Fail(ErrorCode::kDamaged,
                "blosc: header states elements of {} and blocks of {} bytes for {} decoded bytes",
                type_size, block, decoded);
  }
  if ((flags & kFlagCopied) != 0) {
    if (uint64_t{decoded} + BLOSC_MAX_OVERHEAD != encoded) {
      return Fail(ErrorCode::kDamaged, "blosc: header states {} copied bytes in {} encoded ones",
                  decoded, encoded);
    }
    return FrameSizes{decoded, encoded};
  }
  const uint64_t blocks = CeilDiv(decoded, block);
  const uint64_t contents = BLOSC_MIN_HEADER_LENGTH + blocks * kBlockOffsetSize;
  if (contents > encoded) {
    return Fail(ErrorCode::kDamaged, "blosc: {} encoded bytes cannot hold {} blocks", encoded,
                blocks);
  }
  for (uint64_t i = 0; i < blocks; ++i) {
    const uint32_t start =
        LoadLittle<uint32_t>(frame.data() + BLOSC_MIN_HEADER_LENGTH + i * kBlockOffsetSize);
    if (start < contents || start >= encoded) {
      return Fail(ErrorCode::kDamaged, "blosc: block {} starts at byte {} of {}", i, start,
                  encoded);
    }
  }
  return FrameSizes{decoded, encoded};
}

class BloscCodec : public BytesToBytesCodec {
 public:
  BloscCodec(std::string compressor, int level, int shuffle, size_t type_size, size_t block_size)
      : compressor_(std::move(compressor)),
        level_(level),
        shuffle_(shuffle),
        type_size_(type_size),
        block_size_(block_size) {}

  std::optional<uint64_t> EncodedSize(uint64_t) const override { return std::nullopt; }

  Result<Bytes> Decode(BytesView encoded, uint64_t limit) const override {
    const Result<FrameSizes> sizes = CheckHeader(encoded, limit);
    if (!sizes) return Fail(sizes);
    size_t validated = 0;
    if (blosc_cbuffer_validate(encoded.data(), sizes->encoded, &validated) != 0 ||
        validated != sizes->decoded) {
      return Fail(ErrorCode::kDamaged, "blosc: frame of {} bytes is not valid", sizes->encoded);
    }
    Bytes decoded(sizes->decoded);
    if (decoded.empty()) return decoded;
    const int written =
        blosc_decompress_ctx(encoded.data(), decoded.data(), decoded.size(), kThreads);
    // Fewer bytes come without an error where a block does not divide into its elements.
    if (written < 0 || static_cast<uint64_t>(written) != sizes->decoded) {
      return Fail(ErrorCode::kDamaged, "blosc: frame of {} bytes does not decode to {}",
                  sizes->encoded, sizes->decoded);
    }
    return decoded;
  }

  Result<Bytes> Encode(BytesView decoded) const override {
    if (decoded.size() > static_cast<size_t>(BLOSC_MAX_BUFFERSIZE)) {
      return Fail(ErrorCode::kTooLarge, "blosc: {} bytes, at most {} fit into a frame",
                  decoded.size(), BLOSC_MAX_BUFFERSIZE);
    }
    // The library calls its own printf for a compressor that it was built without.
    if (blosc_compname_to_compcode(compressor_.c_str()) < 0) {
      return Fail(ErrorCode::kUnsupported, "blosc: compressor '{}' is not built in", compressor_);
    }
    Bytes encoded(decoded.size() + BLOSC_MAX_OVERHEAD);
    const int size = blosc_compress_ctx(level_, shuffle_, type_size_, decoded.size(),
                                        decoded.data(), encoded.data(), encoded.size(),
                                        compressor_.c_str(), block_size_, kThreads);
    if (size <= 0) return Fail(ErrorCode::kIo, "blosc: cannot compress ({})", size);
    encoded.resize(static_cast<size_t>(size));
    return encoded;
  }

 private:
  const std::string compressor_;
  const int level_;
  const int shuffle_;
  const size_t type_size_;
  const size_t block_size_;  // bytes; 0 lets the library choose
};

// Of numcodecs: 0, 1, 2 or -1, which chooses by the size of an element.
Result<int> ShuffleMember(const CodecSpec& codec, int64_t type_size) {
  const Json* value = FindMember(codec, "shuffle");
  if (value != nullptr && value->is_number()) {
    const Result<int64_t> number =
        IntegerMember(codec, "shuffle", -1, BLOSC_BITSHUFFLE, BLOSC_NOSHUFFLE);
    if (!number) return Fail(number);
    if (*number >= 0) return static_cast<int>(*number);
    return type_size == 1 ? BLOSC_BITSHUFFLE : BLOSC_SHUFFLE;
  }
  const Result<std::string> name = StringMember(codec, "shuffle", "noshuffle");
  if (!name) return Fail(name);
  const auto known = std::ranges::find(kShuffles, *name);
  if (known == kShuffles.end()) {
    return WrongMember(codec, "shuffle", "noshuffle, shuffle or bitshuffle");
  }
  return static_cast<int>(known - kShuffles.begin());
}

}  // namespace

Result<std::shared_ptr<const BytesToBytesCodec>> MakeBloscCodec(const CodecSpec& codec) {
  const Result<std::string> compressor = StringMember(codec, "cname", "lz4");
  if (!compressor) return Fail(compressor);
  if (std::ranges::find(kCompressors, *compressor) == kCompressors.end()) {
    return WrongMember(codec, "cname", "blosclz, lz4, lz4hc, snappy, zlib or zstd");
  }
  const Result<int64_t> level = IntegerMember(codec, "clevel", 0, 9, 5);
  if (!level) return Fail(level);
  constexpr int64_t kLargest = std::numeric_limits<int32_t>::max();
  const Result<int64_t> type_size = IntegerMember(codec, "typesize", 1, kLargest, 1);
  if (!type_size) return Fail(type_size);
  const Result<int> shuffle = ShuffleMember(codec, *type_size);
  if (!shuffle) return Fail(shuffle);
  const Result<int64_t> block_size = IntegerMember(codec, "blocksize", 0, kLargest, 0);
  if (!block_size) return Fail(block_size);
  return std::make_shared<const BloscCodec>(*compressor, static_cast<int>(*level), *shuffle,
                                            static_cast<size_t>(*type_size),
                                            static_cast<size_t>(*block_size));
}

}  // namespace zarrfs
