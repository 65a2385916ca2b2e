#include "zarrcore/codec/blosc.h"

#include <blosc.h>

#include <algorithm>
#include <array>
#include <limits>

#include "zarrcore/base/byte_order.h"
#include "zarrcore/base/checked.h"
#include "zarrcore/base/memory_budget.h"
#include "zarrcore/codec/configuration.h"
#include "zarrcore/codec/registry.h"

namespace zarrfs {
namespace {

constexpr std::array<std::string_view, 6> kCompressors = {"blosclz", "lz4",  "lz4hc",
                                                          "snappy",  "zlib", "zstd"};
constexpr std::array<std::string_view, 3> kShuffles = {"noshuffle", "shuffle", "bitshuffle"};
static_assert(BLOSC_NOSHUFFLE == 0 && BLOSC_SHUFFLE == 1 && BLOSC_BITSHUFFLE == 2);

constexpr int kThreads = 1;  // with one thread, c-blosc works on the calling thread

// A frame header consists of the format version, the version of the compressor's format, flags (the
// bits below), the type size, and three little-endian int32 numbers: the decoded size, the size of
// a block, and the size of the frame.
constexpr uint8_t kFlagCopied = 0x02;
constexpr uint8_t kFlagReserved = 0x08;
// The last known compressor format. Formats 0 to 4 are blosclz, lz4, snappy, zlib and zstd.
constexpr uint8_t kLastFormat = 4;
constexpr size_t kBlockOffsetSize = 4;

// Memory in bytes that a decoder may use without a reservation from ProcessMemory().
constexpr uint64_t kFreeBuffers = 8u << 20;

struct FrameSizes {
  uint64_t decoded;
  uint64_t encoded;
  uint64_t buffers = 0;  // bytes that c-blosc allocates to decode: three times the block size
};

// Checks all header values that c-blosc uses against the input's size and `limit`, because c-blosc
// trusts some of them.
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
  // c-blosc allocates a multiple of the block size, so the block size must be limited.
  if (type_size == 0 || block == 0 || block > std::max<uint32_t>(decoded, 1) ||
      block > static_cast<uint32_t>(BLOSC_MAX_BLOCKSIZE)) {
    return Fail(ErrorCode::kDamaged,
                "blosc: header states elements of {} and blocks of {} bytes for {} decoded bytes",
                type_size, block, decoded);
  }
  if ((flags & kFlagCopied) != 0) {
    if (uint64_t{decoded} + BLOSC_MAX_OVERHEAD != encoded) {
      return Fail(ErrorCode::kDamaged,
                  "blosc: the header states {} bytes, not compressed, but the chunk has {}",
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
  return FrameSizes{decoded, encoded, 3 * uint64_t{block}};
}

class BloscCodec : public BytesToBytesCodec {
 public:
  explicit BloscCodec(const BloscParameters& parameters) : parameters_(parameters) {}

  Result<Bytes> Decode(BytesView encoded, uint64_t limit) const override {
    const Result<FrameSizes> sizes = CheckHeader(encoded, limit);
    if (!sizes) return Fail(sizes);
    size_t validated = 0;
    if (blosc_cbuffer_validate(encoded.data(), sizes->encoded, &validated) != 0 ||
        validated != sizes->decoded) {
      return Fail(ErrorCode::kDamaged, "blosc: frame of {} bytes is not valid", sizes->encoded);
    }
    Result<MemoryBudget::Share> memory{};
    if (sizes->buffers > kFreeBuffers) memory = ProcessMemory().Take(sizes->buffers);
    if (!memory) return Fail(memory);
    Bytes decoded(sizes->decoded);
    if (decoded.empty()) return decoded;
    const int written =
        blosc_decompress_ctx(encoded.data(), decoded.data(), decoded.size(), kThreads);
    // If a block is not a whole number of elements, c-blosc returns fewer bytes and no error.
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
    // c-blosc would print a message if it was built without the compressor, so check this first.
    const std::string compressor(parameters_.compressor);
    if (blosc_compname_to_compcode(compressor.c_str()) < 0) {
      return Fail(ErrorCode::kUnsupported, "blosc: compressor '{}' is not built in", compressor);
    }
    Bytes encoded(decoded.size() + BLOSC_MAX_OVERHEAD);
    const int size =
        blosc_compress_ctx(parameters_.level, parameters_.shuffle, parameters_.type_size,
                           decoded.size(), decoded.data(), encoded.data(), encoded.size(),
                           compressor.c_str(), parameters_.block_size, kThreads);
    if (size <= 0) return Fail(ErrorCode::kIo, "blosc: cannot compress ({})", size);
    encoded.resize(static_cast<size_t>(size));
    return encoded;
  }

 private:
  const BloscParameters parameters_;
};

// Returns the shuffle mode that a configuration selects. "shuffle" is a name, or a number as in
// numcodecs (0, 1, 2, or -1 to choose by the element size).
int ShuffleOf(const CodecSpec& codec, int64_t type_size) {
  const Json* value = FindMember(codec, "shuffle");
  if (value == nullptr) return BLOSC_NOSHUFFLE;
  for (size_t i = 0; i < kShuffles.size(); ++i) {
    if (*value == kShuffles[i]) return static_cast<int>(i);
  }
  constexpr int64_t kBySize = -1;
  const int64_t number =
      EncoderMember(codec, "shuffle", kBySize, BLOSC_BITSHUFFLE, BLOSC_NOSHUFFLE);
  if (number != kBySize) return static_cast<int>(number);
  return type_size == 1 ? BLOSC_BITSHUFFLE : BLOSC_SHUFFLE;
}

}  // namespace

std::string_view BloscParameters::shuffle_name() const {
  return kShuffles[static_cast<size_t>(shuffle)];
}

BloscParameters BloscParametersOf(const CodecSpec& codec, size_t item_size) {
  BloscParameters parameters;
  const Json* compressor = FindMember(codec, "cname");
  const auto known = compressor == nullptr
                         ? kCompressors.end()
                         : std::ranges::find_if(kCompressors, [&](std::string_view name) {
                             return *compressor == name;
                           });
  parameters.compressor = known == kCompressors.end() ? "lz4" : *known;
  parameters.level = static_cast<int>(EncoderMember(codec, "clevel", 0, 9, 5));
  const int64_t item =
      item_size > BLOSC_MAX_TYPESIZE ? 1 : std::max<int64_t>(static_cast<int64_t>(item_size), 1);
  constexpr int64_t kLargest = std::numeric_limits<int32_t>::max();
  parameters.type_size = static_cast<size_t>(EncoderMember(codec, "typesize", 1, kLargest, item));
  parameters.shuffle = ShuffleOf(codec, static_cast<int64_t>(parameters.type_size));
  parameters.block_size = static_cast<size_t>(EncoderMember(codec, "blocksize", 0, kLargest, 0));
  return parameters;
}

Result<BytesToBytesPtr> MakeBloscCodec(const CodecSpec& codec) {
  return std::make_shared<const BloscCodec>(BloscParametersOf(codec, 1));
}

}  // namespace zarrfs
