#include <bzlib.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <string_view>

#include "zarrcore/codec/configuration.h"
#include "zarrcore/codec/growing_output.h"
#include "zarrcore/codec/registry.h"

namespace zarrfs {
namespace {

constexpr size_t kMaxAtOnce = std::numeric_limits<unsigned>::max();

void Feed(bz_stream& stream, BytesView input, std::span<std::byte> output) {
  // libbz2 only reads the input, but takes a pointer to non-const.
  stream.next_in = const_cast<char*>(reinterpret_cast<const char*>(input.data()));
  stream.avail_in = static_cast<unsigned>(std::min(input.size(), kMaxAtOnce));
  stream.next_out = reinterpret_cast<char*>(output.data());
  stream.avail_out = static_cast<unsigned>(std::min(output.size(), kMaxAtOnce));
}

bool StartsStream(BytesView bytes) {
  constexpr std::string_view kMagic = "BZh";
  return bytes.size() >= kMagic.size() &&
         std::memcmp(bytes.data(), kMagic.data(), kMagic.size()) == 0;
}

class Bz2Codec : public BytesToBytesCodec {
 public:
  explicit Bz2Codec(int level) : level_(level) {}

  Result<Bytes> Decode(BytesView encoded, uint64_t limit) const override {
    GrowingOutput output(limit);
    BytesView rest = encoded;
    do {
      bz_stream stream = {};
      if (BZ2_bzDecompressInit(&stream, 0, 0) != BZ_OK) {
        return Fail(ErrorCode::kIo, "bz2: out of memory");
      }
      const std::unique_ptr<bz_stream, decltype(&BZ2_bzDecompressEnd)> owner(&stream,
                                                                             &BZ2_bzDecompressEnd);
      for (int status = BZ_OK; status != BZ_STREAM_END;) {
        const std::span<std::byte> space = output.Space();
        Feed(stream, rest, space);
        const unsigned fed = stream.avail_in;
        const unsigned room = stream.avail_out;
        status = BZ2_bzDecompress(&stream);
        rest = rest.subspan(fed - stream.avail_in);
        output.Written(room - stream.avail_out);
        if (output.full()) {
          return Fail(ErrorCode::kDamaged, "bz2: expected at most {} bytes, found more", limit);
        }
        if (status == BZ_MEM_ERROR) return Fail(ErrorCode::kIo, "bz2: out of memory");
        if (status != BZ_OK && status != BZ_STREAM_END) {
          return Fail(ErrorCode::kDamaged, "bz2: invalid data at byte {} of {} ({})",
                      encoded.size() - rest.size(), encoded.size(), status);
        }
        if (status == BZ_OK && rest.empty() && stream.avail_out != 0) {
          return Fail(ErrorCode::kDamaged, "bz2: {} bytes end inside a stream", encoded.size());
        }
      }
    } while (StartsStream(rest));
    return std::move(output).Take();
  }

  Result<Bytes> Encode(BytesView decoded) const override {
    // The maximum size of the output, according to the manual of libbz2.
    const size_t bound = decoded.size() + decoded.size() / 100 + 600;
    if (bound > kMaxAtOnce) {
      return Fail(ErrorCode::kTooLarge, "bz2: {} bytes are too many", decoded.size());
    }
    Bytes encoded(bound);
    auto size = static_cast<unsigned>(bound);
    const int status =
        BZ2_bzBuffToBuffCompress(reinterpret_cast<char*>(encoded.data()), &size,
                                 const_cast<char*>(reinterpret_cast<const char*>(decoded.data())),
                                 static_cast<unsigned>(decoded.size()), level_, 0, 0);
    if (status != BZ_OK) return Fail(ErrorCode::kIo, "bz2: cannot compress ({})", status);
    encoded.resize(size);
    return encoded;
  }

 private:
  const int level_;
};

}  // namespace

Result<BytesToBytesPtr> MakeBz2Codec(const CodecSpec& codec) {
  const int64_t level = EncoderMember(codec, "level", 1, 9, 1);
  return std::make_shared<const Bz2Codec>(static_cast<int>(level));
}

}  // namespace zarrfs
