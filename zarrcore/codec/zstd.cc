#include <zstd.h>

#include "zarrcore/codec/configuration.h"
#include "zarrcore/codec/registry.h"
#include "zarrcore/codec/zstd_frame.h"

namespace zarrfs {
namespace {

struct FreeContext {
  void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
  void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
};

class ZstdCodec : public BytesToBytesCodec {
 public:
  ZstdCodec(int level, bool checksum) : level_(level), checksum_(checksum) {}

  Result<Bytes> Decode(BytesView encoded, uint64_t limit) const override {
    // libzstd decodes an empty input to nothing, without an error.
    if (encoded.empty()) return Fail(ErrorCode::kDamaged, "zstd: expected a frame, found 0 bytes");
    const Result<uint64_t> bound = ZstdDecodedBound(encoded, limit);
    if (!bound) return Fail(bound);
    // Creating a context allocates about 100 KB, so each thread reuses one context. A context holds
    // no state between calls.
    static thread_local const std::unique_ptr<ZSTD_DCtx, FreeContext> context(ZSTD_createDCtx());
    if (context == nullptr) return Fail(ErrorCode::kIo, "zstd: out of memory");
    Bytes decoded(*bound);
    const size_t size = ZSTD_decompressDCtx(context.get(), decoded.data(), decoded.size(),
                                            encoded.data(), encoded.size());
    if (ZSTD_isError(size) != 0) {
      return Fail(ErrorCode::kDamaged, "zstd: {} ({} bytes, expected at most {} decoded)",
                  ZSTD_getErrorName(size), encoded.size(), limit);
    }
    decoded.resize(size);
    return decoded;
  }

  Result<Bytes> Encode(BytesView decoded) const override {
    const std::unique_ptr<ZSTD_CCtx, FreeContext> context(ZSTD_createCCtx());
    if (context == nullptr) return Fail(ErrorCode::kIo, "zstd: out of memory");
    ZSTD_CCtx_setParameter(context.get(), ZSTD_c_compressionLevel, level_);
    ZSTD_CCtx_setParameter(context.get(), ZSTD_c_checksumFlag, checksum_ ? 1 : 0);
    // Encodes everything in one call, so the frame header has the content size.
    Bytes encoded(ZSTD_compressBound(decoded.size()));
    const size_t size = ZSTD_compress2(context.get(), encoded.data(), encoded.size(),
                                       decoded.data(), decoded.size());
    if (ZSTD_isError(size) != 0) {
      return Fail(ErrorCode::kIo, "zstd: cannot compress: {}", ZSTD_getErrorName(size));
    }
    encoded.resize(size);
    return encoded;
  }

 private:
  const int level_;
  const bool checksum_;
};

}  // namespace

Result<BytesToBytesPtr> MakeZstdCodec(const CodecSpec& codec) {
  const int64_t level = EncoderMember(codec, "level", ZSTD_minCLevel(), ZSTD_maxCLevel(), 0);
  // If true, encoded frames end with zstd's own checksum.
  const Json* checksum = FindMember(codec, "checksum");
  return std::make_shared<const ZstdCodec>(static_cast<int>(level),
                                           checksum != nullptr && *checksum == true);
}

}  // namespace zarrfs
