#include "zarrcore/icechunk/icechunk_file.h"

#include <zstd.h>

#include <algorithm>
#include <memory>
#include <span>
#include <utility>

namespace zarrfs {
namespace {

using std::string_view_literals::operator""sv;

constexpr std::string_view kMagic =
    "ICE\xF0\x9F\xA7\x8A"
    "CHUNK"sv;
constexpr size_t kVersionAt = 36;
constexpr size_t kTypeAt = 37;
constexpr size_t kCompressionAt = 38;

// Offsets in flatbuffers have 31 bits.
constexpr uint64_t kMaxContent = FLATBUFFERS_MAX_BUFFER_SIZE - 1;

// The number of bytes in the first read of a file, in a fast store and in a slow store. Most files
// have at most kFirstReadOfSlow bytes.
constexpr size_t kFirstRead = 64u << 10;
constexpr size_t kFirstReadOfSlow = 1u << 20;
// Maximum attempts to read a file that is replaced while it is read.
constexpr int kReadTries = 3;
constexpr uint64_t kFirstOutput = 64u << 10;
constexpr uint64_t kDecoder = 512u << 10;  // zstd's memory in bytes, excluding the window

struct FreeDecoder {
  void operator()(ZSTD_DCtx* decoder) const { ZSTD_freeDCtx(decoder); }
};

Error Damaged(std::string_view key, std::string_view how) {
  return {ErrorCode::kDamaged, fmt::format("{}: damaged: {}", key, how)};
}

// The window size in bytes that a frame requires (RFC 8878, 3.1.1.1). zstd itself refuses windows
// above 128 MiB.
uint64_t WindowOf(std::string_view frame, uint64_t content_size) {
  constexpr uint64_t kMax = uint64_t{1} << 27;
  if (frame.size() < 6) return 0;
  constexpr unsigned kSingleSegment = 0x20;
  if ((static_cast<unsigned char>(frame[4]) & kSingleSegment) != 0) {
    return std::min(content_size, kMax);
  }
  const auto descriptor = static_cast<unsigned char>(frame[5]);
  const unsigned log = 10U + (descriptor >> 3U);
  const uint64_t base = uint64_t{1} << log;
  return std::min(base + base / 8 * (descriptor & 7U), kMax);
}

// Decompresses one zstd frame into memory that is reserved piece by piece, because the content size
// in the frame may be absent or wrong.
class Decompression {
 public:
  /// `reserved`: the bytes that are reserved for the stored file.
  Decompression(std::string_view key, std::string_view frame, uint64_t reserved)
      : key_(key), frame_(frame), reserved_(reserved) {}

  Result<void> Into(IcechunkFile& file) {
    const uint64_t stated = ZSTD_getFrameContentSize(frame_.data(), frame_.size());
    if (stated == ZSTD_CONTENTSIZE_ERROR) return tl::unexpected(Damaged(key_, "not a zstd frame"));
    const bool is_stated = stated != ZSTD_CONTENTSIZE_UNKNOWN;
    auto window = ProcessMemory().Take(WindowOf(frame_, stated) + kDecoder, reserved_);
    if (!window) return Fail(window);
    window_ = *std::move(window);
    const std::unique_ptr<ZSTD_DCtx, FreeDecoder> decoder(ZSTD_createDCtx());
    if (decoder == nullptr) return Fail(ErrorCode::kNoMemory, "{}: out of memory for zstd", key_);
    if (auto grown = Grow(file, is_stated ? std::max<uint64_t>(stated, 1) : kFirstOutput); !grown) {
      return grown;
    }
    ZSTD_inBuffer in{frame_.data(), frame_.size(), 0};
    size_t used = 0;
    for (;;) {
      ZSTD_outBuffer out{file.content.data(), file.content.size(), used};
      const size_t left = ZSTD_decompressStream(decoder.get(), &out, &in);
      if (ZSTD_isError(left) != 0U) {
        return tl::unexpected(Damaged(key_, ZSTD_getErrorName(left)));
      }
      const bool is_stuck = out.pos == used && in.pos == in.size && out.pos < out.size;
      used = out.pos;
      if (left == 0) break;
      if (is_stuck) return tl::unexpected(Damaged(key_, "ends early"));
      if (used < file.content.size()) continue;
      if (is_stated) return tl::unexpected(Damaged(key_, "larger than its header says"));
      if (auto grown = Grow(file, 2 * uint64_t{used}); !grown) return grown;
    }
    if (in.pos != in.size) return tl::unexpected(Damaged(key_, "bytes follow its content"));
    file.content.resize(used);
    if (file.content.capacity() > 2 * used) file.content.shrink_to_fit();
    file.memory.ShrinkTo(file.content.capacity());
    return {};
  }

 private:
  Result<void> Grow(IcechunkFile& file, uint64_t size) const {
    if (size > kMaxContent) {
      return Fail(ErrorCode::kTooLarge, "{}: expected at most {} bytes decompressed, found more",
                  key_, kMaxContent);
    }
    // While the buffer grows, the old and the new buffer are in memory at the same time.
    const uint64_t needed = size + file.memory.bytes() + window_.bytes();
    const uint64_t limit = ProcessMemory().limit();
    if (needed > limit) {
      return Fail(ErrorCode::kTooLarge,
                  "{}: decompressing more than {} bytes needs {} bytes of memory, the limit is {}",
                  key_, file.memory.bytes(), needed, limit);
    }
    auto memory = ProcessMemory().Take(size, needed - size + reserved_);
    if (!memory) {
      return Fail(memory.error().code, "{}: {} bytes decompressed: {}", key_, size,
                  memory.error().message);
    }
    std::string larger;
    larger.reserve(static_cast<size_t>(size));
    larger = file.content;
    larger.resize(static_cast<size_t>(size));
    file.content = std::move(larger);
    file.memory = *std::move(memory);
    return {};
  }

  const std::string_view key_;
  const std::string_view frame_;
  const uint64_t reserved_;
  MemoryBudget::Share window_;
};

std::string_view NameOf(IcechunkFileType type) {
  switch (type) {
    case IcechunkFileType::kSnapshot:
      return "a snapshot";
    case IcechunkFileType::kManifest:
      return "a manifest";
    case IcechunkFileType::kRepo:
      break;
  }
  return "a repository";
}

Result<StoredIcechunkFile> ReadStoredOnce(const Store& container, const std::string& key) {
  StoredIcechunkFile file;
  const size_t first = container.AnswersFast() ? kFirstRead : kFirstReadOfSlow;
  auto memory = ProcessMemory().Take(first);
  if (!memory) return Fail(memory);
  file.memory = *std::move(memory);
  file.bytes.resize(first);
  const auto read =
      container.Read(key, ByteRange::At(0, first), std::as_writable_bytes(std::span(file.bytes)));
  if (!read) return Fail(read);
  file.bytes.resize(read->length);
  file.info = read->object->info();
  const uint64_t size = file.info.size();
  if (size <= read->length || !IsIcechunkFile(file.bytes)) {
    file.bytes.shrink_to_fit();
    file.memory.ShrinkTo(file.bytes.capacity());
    return file;
  }
  if (size > kMaxContent) {
    return Fail(ErrorCode::kTooLarge, "{}: expected at most {} bytes, found {}", key, kMaxContent,
                size);
  }
  auto more = ProcessMemory().Take(size, file.memory.bytes());
  if (!more) return Fail(more);
  file.memory.Add(*std::move(more));
  file.bytes.resize(static_cast<size_t>(size));
  const auto rest = read->object->Read(
      read->length, std::as_writable_bytes(std::span(file.bytes)).subspan(read->length));
  if (!rest) return Fail(rest);
  file.memory.ShrinkTo(size);
  return file;
}

}  // namespace

bool IsIcechunkFile(std::string_view stored) { return stored.starts_with(kMagic); }

Result<IcechunkFile> DecodeIcechunkFile(std::string_view key, std::string stored,
                                        IcechunkFileType type, MemoryBudget::Share reserved) {
  if (stored.size() < kIcechunkHeader || !IsIcechunkFile(stored)) {
    return tl::unexpected(Damaged(key, "not an Icechunk file"));
  }
  IcechunkFile file;
  file.key = key;
  file.version = static_cast<uint8_t>(stored[kVersionAt]);
  if (file.version == 0 || file.version > kIcechunkVersion) {
    return Fail(ErrorCode::kUnsupported,
                "{}: written for version {} of Icechunk's specification, expected 1 to {}", key,
                file.version, kIcechunkVersion);
  }
  if (static_cast<uint8_t>(stored[kTypeAt]) != static_cast<uint8_t>(type)) {
    return tl::unexpected(Damaged(
        key, fmt::format("expected {} (type {}), found type {}", NameOf(type),
                         static_cast<unsigned>(type), static_cast<uint8_t>(stored[kTypeAt]))));
  }
  const auto compression = static_cast<uint8_t>(stored[kCompressionAt]);
  if (compression > 1) {
    return Fail(ErrorCode::kUnsupported,
                "{}: compression {} is not known, expected 0 (none) or 1 (zstd)", key, compression);
  }
  if (compression == 1) {
    Decompression decompression(key, std::string_view(stored).substr(kIcechunkHeader),
                                reserved.bytes());
    if (auto done = decompression.Into(file); !done) return Fail(done);
    return file;
  }
  if (stored.size() - kIcechunkHeader > kMaxContent) {
    return Fail(ErrorCode::kTooLarge, "{}: expected at most {} bytes, found {}", key, kMaxContent,
                stored.size());
  }
  if (reserved.bytes() < stored.size()) {
    auto more = ProcessMemory().Take(stored.size() - reserved.bytes(), reserved.bytes());
    if (!more) return Fail(more);
    reserved.Add(*std::move(more));
  }
  file.memory = std::move(reserved);
  stored.erase(0, kIcechunkHeader);
  file.content = std::move(stored);
  return file;
}

Result<StoredIcechunkFile> ReadStoredIcechunkFile(const Store& container, const std::string& key) {
  auto stored = ReadStoredOnce(container, key);
  for (int tries = 1; !stored && stored.error().code == ErrorCode::kStale && tries < kReadTries;
       ++tries) {
    stored = ReadStoredOnce(container, key);
  }
  return stored;
}

Result<IcechunkFile> ReadIcechunkFile(const Store& container, const std::string& key,
                                      IcechunkFileType type) {
  auto stored = ReadStoredIcechunkFile(container, key);
  if (!stored) return Fail(stored);
  auto file = DecodeIcechunkFile(key, std::move(stored->bytes), type, std::move(stored->memory));
  if (file) file->info = std::move(stored->info);
  return file;
}

}  // namespace zarrfs
