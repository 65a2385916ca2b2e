#include "zarrcore/codec/gzip.h"

#include <zlib.h>

#include <algorithm>
#include <limits>

#include "zarrcore/codec/configuration.h"

namespace zarrfs {
namespace {

constexpr int kGzipWindowBits = 15 + 16;  // the largest window, in a gzip wrapper and no other

// Deflate cannot do better than 1032 to 1: what a short input cannot fill is never allocated.
constexpr uint64_t kBestRatio = 1032;

// Gives `stream` as much of `input` and of the output up to `end` as its 32-bit counters can hold.
void Feed(z_stream& stream, BytesView input, const std::byte* end) {
  constexpr size_t kMost = std::numeric_limits<uInt>::max();
  stream.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(input.data()));
  stream.avail_in = static_cast<uInt>(std::min(input.size(), kMost));
  const auto space = static_cast<size_t>(reinterpret_cast<const Bytef*>(end) - stream.next_out);
  stream.avail_out = static_cast<uInt>(std::min(space, kMost));
}

class GzipCodec : public BytesToBytesCodec {
 public:
  explicit GzipCodec(int level) : level_(level) {}

  std::optional<uint64_t> EncodedSize(uint64_t) const override { return std::nullopt; }

  Result<Bytes> Decode(BytesView encoded, uint64_t limit) const override {
    // One byte more than allowed, so that output that is too long is seen as such.
    const uint64_t reachable =
        encoded.size() < (uint64_t{1} << 50) ? encoded.size() * kBestRatio : UINT64_MAX;
    const uint64_t space = std::min(limit, reachable) + 1;
    z_stream stream = {};
    if (inflateInit2(&stream, kGzipWindowBits) != Z_OK) {
      return Fail(ErrorCode::kIo, "gzip: out of memory");
    }
    const std::unique_ptr<z_stream, decltype(&inflateEnd)> owner(&stream, &inflateEnd);

    Bytes decoded(space);
    const std::byte* const end = decoded.data() + decoded.size();
    stream.next_out = reinterpret_cast<Bytef*>(decoded.data());
    BytesView rest = encoded;
    for (;;) {
      Feed(stream, rest, end);
      if (stream.avail_out == 0) {
        return Fail(ErrorCode::kDamaged, "gzip: expected at most {} bytes, found more", limit);
      }
      const uInt fed = stream.avail_in;
      const int status = inflate(&stream, Z_NO_FLUSH);
      rest = rest.subspan(fed - stream.avail_in);
      if (status == Z_STREAM_END) {
        if (rest.empty()) break;
        if (inflateReset(&stream) != Z_OK) return Fail(ErrorCode::kIo, "gzip: cannot go on");
        continue;
      }
      if (status == Z_BUF_ERROR || (status == Z_OK && rest.empty() && stream.avail_out != 0)) {
        return Fail(ErrorCode::kDamaged, "gzip: {} bytes end inside a member", encoded.size());
      }
      if (status != Z_OK) {
        return Fail(ErrorCode::kDamaged, "gzip: {} at byte {} of {}",
                    stream.msg == nullptr ? "wrong data" : stream.msg, encoded.size() - rest.size(),
                    encoded.size());
      }
    }
    const auto size =
        static_cast<size_t>(reinterpret_cast<std::byte*>(stream.next_out) - decoded.data());
    if (size > limit) {
      return Fail(ErrorCode::kDamaged, "gzip: expected at most {} bytes, found more", limit);
    }
    decoded.resize(size);
    return decoded;
  }

  Result<Bytes> Encode(BytesView decoded) const override {
    z_stream stream = {};
    constexpr int kDefaultMemory = 8;
    if (deflateInit2(&stream, level_, Z_DEFLATED, kGzipWindowBits, kDefaultMemory,
                     Z_DEFAULT_STRATEGY) != Z_OK) {
      return Fail(ErrorCode::kIo, "gzip: out of memory");
    }
    const std::unique_ptr<z_stream, decltype(&deflateEnd)> owner(&stream, &deflateEnd);

    Bytes encoded(deflateBound(&stream, decoded.size()));
    const std::byte* const end = encoded.data() + encoded.size();
    stream.next_out = reinterpret_cast<Bytef*>(encoded.data());
    BytesView rest = decoded;
    for (;;) {
      Feed(stream, rest, end);
      const uInt fed = stream.avail_in;
      const int status = deflate(&stream, fed == rest.size() ? Z_FINISH : Z_NO_FLUSH);
      rest = rest.subspan(fed - stream.avail_in);
      if (status == Z_STREAM_END) break;
      if (status != Z_OK) return Fail(ErrorCode::kIo, "gzip: cannot compress ({})", status);
    }
    encoded.resize(
        static_cast<size_t>(reinterpret_cast<std::byte*>(stream.next_out) - encoded.data()));
    return encoded;
  }

 private:
  const int level_;
};

}  // namespace

Result<std::shared_ptr<const BytesToBytesCodec>> MakeGzipCodec(const CodecSpec& codec) {
  const Result<int64_t> level = IntegerMember(codec, "level", 0, 9, 5);
  if (!level) return Fail(level);
  return std::make_shared<const GzipCodec>(static_cast<int>(*level));
}

}  // namespace zarrfs
