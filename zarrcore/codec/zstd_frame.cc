#include "zarrcore/codec/zstd_frame.h"

#include <zstd.h>

#include <algorithm>
#include <array>

#include "zarrcore/base/byte_order.h"

namespace zarrfs {
namespace {

// A frame header consists of magic number, descriptor, window, dictionary id and content size (RFC
// 8878, 3.1.1).
constexpr uint32_t kMagic = 0xfd2fb528;
constexpr size_t kMagicSize = 4;
constexpr size_t kMaxFrameHeader = 18;
constexpr uint8_t kReserved = 0x08;
constexpr uint8_t kSingleSegment = 0x20;
constexpr uint8_t kChecksum = 0x04;
constexpr uint8_t kSizeOfFourBytes = 0x80;

// Sizes in bytes of a block header, a block and a frame's checksum (RFC 8878, 3.1.1.2).
constexpr uint64_t kBlockHeader = 3;
constexpr uint64_t kMaxBlock = 128 << 10;
constexpr uint64_t kFrameChecksumSize = 4;

// Maximum number of blocks that are read to find the end of a frame, and of skippable frames after
// it. Writers fill their blocks, so a frame with this many blocks has 8 GiB, but a hostile chunk
// may have any number of empty blocks.
constexpr int kMaxBlocks = 1 << 16;

constexpr uint64_t kSkippableHeader = 8;

// The maximum compression ratio of zstd: a block of at least four encoded bytes decodes to at most
// 128 KiB. Limits the allocation for a short input.
constexpr uint64_t kBestZstdRatio = ZSTD_BLOCKSIZE_MAX / 4;

bool IsSkippable(uint32_t magic) { return (magic & 0xfffffff0) == 0x184d2a50; }

uint64_t Number(BytesView bytes) {
  uint64_t value = 0;
  for (size_t i = bytes.size(); i-- > 0;) value = value << 8 | std::to_integer<uint64_t>(bytes[i]);
  return value;
}

struct FrameHeader {
  uint64_t size = 0;  // the size of the header in bytes
  std::optional<uint64_t> content_size;
  bool has_checksum = false;
};

// Parses the header of the first frame. `start`: the first kMaxFrameHeader bytes of the chunk, or
// the whole chunk if it is shorter.
Result<FrameHeader> ParseHeader(BytesView start) {
  const auto short_of = [&](uint64_t size) {
    return Fail(ErrorCode::kDamaged, "zstd: expected a frame header of {} bytes, found {}", size,
                start.size());
  };
  if (start.size() <= kMagicSize) return short_of(kMagicSize + 2);
  const auto descriptor = std::to_integer<uint8_t>(start[kMagicSize]);
  if ((descriptor & kReserved) != 0) {
    return Fail(ErrorCode::kDamaged, "zstd: frame descriptor 0x{:02x} is not known", descriptor);
  }
  const bool single_segment = (descriptor & kSingleSegment) != 0;
  constexpr std::array<size_t, 4> kIdSizes = {0, 1, 2, 4};
  constexpr std::array<size_t, 4> kContentSizes = {0, 2, 4, 8};
  const size_t id_size = kIdSizes[descriptor & 3];
  size_t content_size = kContentSizes[descriptor >> 6];
  if (content_size == 0 && single_segment) content_size = 1;
  const size_t id_at = kMagicSize + 1 + (single_segment ? 0 : 1);
  FrameHeader header;
  header.size = id_at + id_size + content_size;
  header.has_checksum = (descriptor & kChecksum) != 0;
  if (start.size() < header.size) return short_of(header.size);
  if (const uint64_t id = Number(start.subspan(id_at, id_size)); id != 0) {
    return Fail(ErrorCode::kDamaged, "zstd: frame needs the dictionary {}", id);
  }
  if (content_size != 0) {
    const uint64_t stored = Number(start.subspan(id_at + id_size, content_size));
    header.content_size = stored + (content_size == 2 ? 256 : 0);
  }
  return header;
}

// Returns the offset of the end of the first frame, or nullopt if the frame has too many blocks.
Result<std::optional<uint64_t>> FindEnd(const FrameHeader& header, uint64_t size,
                                        const ReadChunkBytes& read) {
  uint64_t at = header.size;
  const auto no_end = [&] {
    return Fail(ErrorCode::kDamaged, "zstd: the block at byte {} of {} has no end", at, size);
  };
  for (int block = 0; block < kMaxBlocks; ++block) {
    if (size - at < kBlockHeader) return no_end();
    std::array<std::byte, kBlockHeader> bytes;
    if (const auto done = read(at, bytes); !done) return Fail(done);
    const uint64_t value = Number(bytes);
    const bool is_last = (value & 1) != 0;
    const uint64_t type = value >> 1 & 3;
    const uint64_t length = value >> 3;
    constexpr uint64_t kRepeated = 1;
    if (type == 3 || length > kMaxBlock) {
      return Fail(ErrorCode::kDamaged, "zstd: block header 0x{:06x} at byte {} is not known", value,
                  at);
    }
    const uint64_t stored = type == kRepeated ? 1 : length;
    const uint64_t rest = is_last && header.has_checksum ? kFrameChecksumSize : 0;
    if (size - at - kBlockHeader < stored + rest) return no_end();
    at += kBlockHeader + stored + rest;
    if (is_last) return at;
  }
  return std::nullopt;
}

// Returns an upper bound for the decoded size of a frame, from the headers of its blocks.
uint64_t BoundOfBlocks(BytesView frame) {
  uint64_t bound = 0;
  const auto header = ParseHeader(frame.first(std::min(frame.size(), kMaxFrameHeader)));
  if (!header) return UINT64_MAX / 2;  // no useful bound; decoding will report the error
  for (uint64_t at = header->size; at + kBlockHeader <= frame.size();) {
    const uint64_t value = Number(frame.subspan(at, kBlockHeader));
    const uint64_t length = value >> 3;
    const bool is_compressed = (value >> 1 & 3) == 2;
    const bool is_repeated = (value >> 1 & 3) == 1;
    bound += is_compressed ? kMaxBlock : length;
    if ((value & 1) != 0) break;
    at += kBlockHeader + (is_repeated ? 1 : length);
  }
  return bound;
}

// True if all frames from offset `at` on are skippable. Old readers also skip such frames.
Result<bool> IsOnlySkippable(uint64_t at, uint64_t size, const ReadChunkBytes& read) {
  for (int frame = 0; at < size && frame < kMaxBlocks; ++frame) {
    std::array<std::byte, kSkippableHeader> bytes;
    if (size - at < bytes.size()) return false;
    if (const auto done = read(at, bytes); !done) return Fail(done);
    if (!IsSkippable(LoadLittle<uint32_t>(bytes.data()))) return false;
    const uint64_t length = LoadLittle<uint32_t>(bytes.data() + 4);
    if (size - at - kSkippableHeader < length) return false;
    at += kSkippableHeader + length;
  }
  return at == size;
}

}  // namespace

Result<ZstdServing> ServeZstd(uint64_t size, std::optional<uint64_t> decoded_size,
                              const ReadChunkBytes& read) {
  std::array<std::byte, kMaxFrameHeader> storage;
  const auto start = std::span(storage).first(std::min<uint64_t>(size, storage.size()));
  if (const auto done = read(0, start); !done) return Fail(done);
  const uint32_t magic = start.size() < kMagicSize ? 0 : LoadLittle<uint32_t>(start.data());
  if (IsSkippable(magic)) return ZstdServing{ZstdServing::Kind::kRecode};
  if (magic != kMagic) return Fail(ErrorCode::kDamaged, "zstd: no frame starts at byte 0");
  const Result<FrameHeader> header = ParseHeader(start);
  if (!header) return Fail(header);

  if (header->content_size) {
    if (!decoded_size || header->content_size == decoded_size) {
      // Old readers treat a content size of 0 as missing.
      const bool is_empty = *header->content_size == 0;
      return ZstdServing{is_empty ? ZstdServing::Kind::kRecode : ZstdServing::Kind::kPass};
    }
    if (*header->content_size > *decoded_size) {
      return Fail(ErrorCode::kDamaged, "zstd: frame states {} decoded bytes, expected {}",
                  *header->content_size, *decoded_size);
    }
    return ZstdServing{ZstdServing::Kind::kRecode};  // further frames may follow
  }

  if (!decoded_size || *decoded_size > UINT32_MAX) return ZstdServing{ZstdServing::Kind::kRecode};
  const Result<std::optional<uint64_t>> end = FindEnd(*header, size, read);
  if (!end) return Fail(end);
  if (!*end) return ZstdServing{ZstdServing::Kind::kRecode};
  const Result<bool> ends = IsOnlySkippable(**end, size, read);
  if (!ends) return Fail(ends);
  if (!*ends) return ZstdServing{ZstdServing::Kind::kRecode};

  return ZstdServing{ZstdServing::Kind::kPatch, header->size};
}

Result<uint64_t> ZstdDecodedBound(BytesView encoded, uint64_t limit) {
  uint64_t stated = 0;
  // The sum of the frames' decoded sizes, at most `limit`. A frame that does not state its size
  // counts with an upper bound.
  uint64_t bound = 0;
  const auto add = [&](uint64_t bytes) { bound += std::min(bytes, limit - bound); };
  BytesView rest = encoded;
  while (!rest.empty()) {
    const size_t at = encoded.size() - rest.size();
    // libzstd may also decode formats from before RFC 8878. Their decoders are not hardened, and no
    // writer used these formats for Zarr.
    const uint32_t magic = rest.size() < 4 ? 0 : LoadLittle<uint32_t>(rest.data());
    const bool skippable = (magic & ZSTD_MAGIC_SKIPPABLE_MASK) == ZSTD_MAGIC_SKIPPABLE_START;
    if (magic != ZSTD_MAGICNUMBER && !skippable) {
      return Fail(ErrorCode::kDamaged, "zstd: no frame starts at byte {} of {}", at,
                  encoded.size());
    }
    const size_t size = ZSTD_findFrameCompressedSize(rest.data(), rest.size());
    if (ZSTD_isError(size) != 0 || size > rest.size() || size == 0) {
      return Fail(ErrorCode::kDamaged, "zstd: frame at byte {} of {} has no end", at,
                  encoded.size());
    }
    if (!skippable) {
      const unsigned long long content = ZSTD_getFrameContentSize(rest.data(), rest.size());
      if (content == ZSTD_CONTENTSIZE_UNKNOWN) {
        add(BoundOfBlocks(rest.first(size)));
      } else if (content == ZSTD_CONTENTSIZE_ERROR || content > limit || stated > limit - content) {
        return Fail(ErrorCode::kDamaged, "zstd: expected at most {} bytes, found more", limit);
      } else {
        stated += content;
        add(content);
      }
    }
    rest = rest.subspan(size);
  }
  const uint64_t reachable =
      encoded.size() < (uint64_t{1} << 48) ? encoded.size() * kBestZstdRatio : UINT64_MAX;
  return std::min(bound, reachable);
}

Bytes PatchZstdHeader(Bytes header, uint64_t decoded_size) {
  header[kMagicSize] |= std::byte{kSizeOfFourBytes};
  header.resize(header.size() + sizeof(uint32_t));
  StoreLittle(header.data() + header.size() - sizeof(uint32_t),
              static_cast<uint32_t>(decoded_size));
  return header;
}

}  // namespace zarrfs
