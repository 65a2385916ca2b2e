#include <lz4.h>

#include <algorithm>
#include <limits>

#include "zarrcore/base/byte_order.h"
#include "zarrcore/codec/configuration.h"
#include "zarrcore/codec/registry.h"

namespace zarrfs {
namespace {

constexpr size_t kSizeBytes = 4;

// The maximum compression ratio of LZ4: one length byte encodes up to 255 decoded bytes. Limits the
// allocation for a short input.
constexpr uint64_t kBestLz4Ratio = 255;

class Lz4Codec : public BytesToBytesCodec {
 public:
  explicit Lz4Codec(int acceleration) : acceleration_(acceleration) {}

  Result<Bytes> Decode(BytesView encoded, uint64_t limit) const override {
    if (encoded.size() < kSizeBytes || encoded.size() > std::numeric_limits<int>::max()) {
      return Fail(ErrorCode::kDamaged, "lz4: {} bytes are too few for a block with its size",
                  encoded.size());
    }
    const uint32_t size = LoadLittle<uint32_t>(encoded.data());
    const BytesView block = encoded.subspan(kSizeBytes);
    if (size > limit || size > uint32_t{LZ4_MAX_INPUT_SIZE} ||
        size > block.size() * kBestLz4Ratio) {
      return Fail(ErrorCode::kDamaged,
                  "lz4: states {} decoded bytes for {} encoded ones, expected at most {}", size,
                  block.size(), limit);
    }
    Bytes decoded(size);
    std::byte nothing;
    const int written =
        LZ4_decompress_safe(reinterpret_cast<const char*>(block.data()),
                            reinterpret_cast<char*>(decoded.empty() ? &nothing : decoded.data()),
                            static_cast<int>(block.size()), static_cast<int>(size));
    if (written < 0 || static_cast<uint32_t>(written) != size) {
      return Fail(ErrorCode::kDamaged, "lz4: block of {} bytes does not decode to {}", block.size(),
                  size);
    }
    return decoded;
  }

  Result<Bytes> Encode(BytesView decoded) const override {
    if (decoded.size() > LZ4_MAX_INPUT_SIZE) {
      return Fail(ErrorCode::kTooLarge, "lz4: {} bytes, at most {} fit into a block",
                  decoded.size(), LZ4_MAX_INPUT_SIZE);
    }
    const int bound = LZ4_compressBound(static_cast<int>(decoded.size()));
    Bytes encoded(kSizeBytes + static_cast<size_t>(bound));
    StoreLittle(encoded.data(), static_cast<uint32_t>(decoded.size()));
    const int size = LZ4_compress_fast(reinterpret_cast<const char*>(decoded.data()),
                                       reinterpret_cast<char*>(encoded.data() + kSizeBytes),
                                       static_cast<int>(decoded.size()), bound, acceleration_);
    if (size <= 0) return Fail(ErrorCode::kIo, "lz4: cannot compress ({})", size);
    encoded.resize(kSizeBytes + static_cast<size_t>(size));
    return encoded;
  }

 private:
  const int acceleration_;
};

}  // namespace

Result<BytesToBytesPtr> MakeLz4Codec(const CodecSpec& codec) {
  // liblz4 clamps the acceleration to the range from 1 to 65537.
  constexpr int64_t kLargest = std::numeric_limits<int>::max();
  const int64_t acceleration = EncoderMember(codec, "acceleration", -kLargest, kLargest, 1);
  return std::make_shared<const Lz4Codec>(static_cast<int>(acceleration));
}

}  // namespace zarrfs
