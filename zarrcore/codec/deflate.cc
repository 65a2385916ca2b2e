// Deflate (RFC 1951), wrapped as "gzip" (RFC 1952) or "zlib" (RFC 1950).
#include <zlib.h>

#include <algorithm>
#include <limits>
#include <string_view>

#include "zarrcore/codec/configuration.h"
#include "zarrcore/codec/registry.h"

namespace zarrfs {
namespace {

enum class Wrapper { kGzip, kZlib };

// Returns zlib's windowBits for the largest window. This number also selects the wrapper.
int WindowBits(Wrapper wrapper) { return wrapper == Wrapper::kGzip ? 15 + 16 : 15; }

// The maximum compression ratio of deflate. Limits the allocation for a short input.
constexpr uint64_t kBestDeflateRatio = 1032;

// Gives `stream` the next input, and the output space from its current position to `end`. zlib
// counts both with 32 bits, so it gets at most 4 GiB of each at a time.
void Feed(z_stream& stream, BytesView input, const std::byte* end) {
  constexpr size_t kMax = std::numeric_limits<uInt>::max();
  stream.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(input.data()));
  stream.avail_in = static_cast<uInt>(std::min(input.size(), kMax));
  const auto space = static_cast<size_t>(reinterpret_cast<const Bytef*>(end) - stream.next_out);
  stream.avail_out = static_cast<uInt>(std::min(space, kMax));
}

class DeflateCodec : public BytesToBytesCodec {
 public:
  DeflateCodec(Wrapper wrapper, int level) : wrapper_(wrapper), level_(level) {}

  Result<Bytes> Decode(BytesView encoded, uint64_t limit) const override {
    // One byte more than allowed, so an output that is too long is detected.
    const uint64_t reachable =
        encoded.size() < (uint64_t{1} << 50) ? encoded.size() * kBestDeflateRatio : UINT64_MAX;
    const uint64_t space = std::min(limit, reachable) + 1;
    z_stream stream = {};
    if (inflateInit2(&stream, WindowBits(wrapper_)) != Z_OK) {
      return Fail(ErrorCode::kIo, "{}: out of memory", name());
    }
    const std::unique_ptr<z_stream, decltype(&inflateEnd)> owner(&stream, &inflateEnd);

    Bytes decoded(space);
    const std::byte* const end = decoded.data() + decoded.size();
    stream.next_out = reinterpret_cast<Bytef*>(decoded.data());
    BytesView rest = encoded;
    for (;;) {
      Feed(stream, rest, end);
      if (stream.avail_out == 0) {
        return Fail(ErrorCode::kDamaged, "{}: expected at most {} bytes, found more", name(),
                    limit);
      }
      const uInt fed = stream.avail_in;
      const int status = inflate(&stream, Z_NO_FLUSH);
      rest = rest.subspan(fed - stream.avail_in);
      if (status == Z_STREAM_END) {
        if (rest.empty() || wrapper_ == Wrapper::kZlib) break;
        if (inflateReset(&stream) != Z_OK)
          return Fail(ErrorCode::kIo, "{}: cannot reset the decoder", name());
        continue;
      }
      if (status == Z_BUF_ERROR || (status == Z_OK && rest.empty() && stream.avail_out != 0)) {
        return Fail(ErrorCode::kDamaged, "{}: {} bytes end inside a {}", name(), encoded.size(),
                    wrapper_ == Wrapper::kGzip ? "member" : "stream");
      }
      if (status != Z_OK) {
        return Fail(ErrorCode::kDamaged, "{}: {} at byte {} of {}", name(),
                    stream.msg == nullptr ? "wrong data" : stream.msg, encoded.size() - rest.size(),
                    encoded.size());
      }
    }
    const auto size =
        static_cast<size_t>(reinterpret_cast<std::byte*>(stream.next_out) - decoded.data());
    if (size > limit) {
      return Fail(ErrorCode::kDamaged, "{}: expected at most {} bytes, found more", name(), limit);
    }
    decoded.resize(size);
    return decoded;
  }

  Result<Bytes> Encode(BytesView decoded) const override {
    z_stream stream = {};
    constexpr int kDefaultMemory = 8;
    if (deflateInit2(&stream, level_, Z_DEFLATED, WindowBits(wrapper_), kDefaultMemory,
                     Z_DEFAULT_STRATEGY) != Z_OK) {
      return Fail(ErrorCode::kIo, "{}: out of memory", name());
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
      if (status != Z_OK) return Fail(ErrorCode::kIo, "{}: cannot compress ({})", name(), status);
    }
    encoded.resize(
        static_cast<size_t>(reinterpret_cast<std::byte*>(stream.next_out) - encoded.data()));
    return encoded;
  }

 private:
  std::string_view name() const { return wrapper_ == Wrapper::kGzip ? "gzip" : "zlib"; }

  const Wrapper wrapper_;
  const int level_;
};

}  // namespace

Result<BytesToBytesPtr> MakeGzipCodec(const CodecSpec& codec) {
  const int64_t level = EncoderMember(codec, "level", 0, 9, 5);
  return std::make_shared<const DeflateCodec>(Wrapper::kGzip, static_cast<int>(level));
}

Result<BytesToBytesPtr> MakeZlibCodec(const CodecSpec& codec) {
  const int64_t level = EncoderMember(codec, "level", -1, 9, 1);  // -1: zlib's default
  return std::make_shared<const DeflateCodec>(Wrapper::kZlib, static_cast<int>(level));
}

}  // namespace zarrfs
