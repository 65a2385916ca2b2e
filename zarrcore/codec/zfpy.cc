#include "zarrcore/codec/zfpy.h"

#include <zfp.h>

#include <algorithm>
#include <bit>
#include <optional>
#include <string>
#include <utility>

#include "zarrcore/base/checked.h"

namespace zarrfs {
namespace {

static_assert(std::endian::native == std::endian::little, "zfp decodes to the machine's order");

// A stream may be as much longer than what it decodes to, if each block is padded.
constexpr uint64_t kMostPadding = 4;
constexpr uint64_t kShortest = uint64_t{1} << 20;

struct Free {
  void operator()(bitstream* bits) const { stream_close(bits); }
  void operator()(zfp_stream* stream) const { zfp_stream_close(stream); }
  void operator()(zfp_field* field) const { zfp_field_free(field); }
};

std::optional<zfp_type> TypeOf(const DataType& type) {
  if (type.kind == DataKind::kInt && type.item_size == 4) return zfp_type_int32;
  if (type.kind == DataKind::kInt && type.item_size == 8) return zfp_type_int64;
  if (type.kind == DataKind::kFloat && type.item_size == 4) return zfp_type_float;
  if (type.kind == DataKind::kFloat && type.item_size == 8) return zfp_type_double;
  return std::nullopt;
}

class ZfpyCodec final : public ArrayToBytesCodec {
 public:
  ZfpyCodec(std::string name, zfp_type type) : name_(std::move(name)), type_(type) {}

  std::optional<uint64_t> EncodedSize(const ChunkSpec&) const override { return std::nullopt; }

  Result<Bytes> Decode(BytesView encoded, const ChunkSpec& spec) const override {
    const std::optional<uint64_t> count = CheckedProduct(spec.shape);
    const auto size = count ? CheckedMul(*count, spec.data_type.item_size) : std::nullopt;
    if (!size || *size > kMaxChunkBytes) {
      return Fail(ErrorCode::kTooLarge, "codec '{}': size of a chunk overflows", name_);
    }
    // The library reads on behind the end of a stream that was cut off: zeros, as many as it may.
    Bytes padded(std::max<uint64_t>(*size * kMostPadding, kShortest) + encoded.size());
    std::ranges::copy(encoded, padded.begin());
    const std::unique_ptr<bitstream, Free> bits(stream_open(padded.data(), padded.size()));
    const std::unique_ptr<zfp_stream, Free> stream(zfp_stream_open(bits.get()));
    const std::unique_ptr<zfp_field, Free> field(zfp_field_alloc());
    if (bits == nullptr || stream == nullptr || field == nullptr) {
      return Fail(ErrorCode::kIo, "codec '{}': out of memory", name_);
    }
    zfp_stream_rewind(stream.get());
    if (zfp_read_header(stream.get(), field.get(), ZFP_HEADER_FULL) == 0) {
      return Fail(ErrorCode::kDamaged, "codec '{}': {} bytes do not begin with a header", name_,
                  encoded.size());
    }
    if (zfp_field_type(field.get()) != type_ || ElementsOf(*field) != count) {
      return Fail(ErrorCode::kDamaged, "codec '{}': the stream holds something else than {} {}",
                  name_, *count, spec.data_type.name);
    }
    if (zfp_stream_maximum_size(stream.get(), field.get()) > padded.size()) {
      return Fail(ErrorCode::kDamaged, "codec '{}': the header asks for more than {} bytes", name_,
                  padded.size());
    }
    Bytes decoded(*size);
    zfp_field_set_pointer(field.get(), decoded.data());
    const size_t end = zfp_decompress(stream.get(), field.get());
    // (The library takes whole words.)
    if (end == 0 || end > encoded.size() + sizeof(uint64_t)) {
      return Fail(ErrorCode::kDamaged, "codec '{}': the stream ends early, at {} bytes", name_,
                  encoded.size());
    }
    return decoded;
  }

  Result<Bytes> Encode(BytesView, const ChunkSpec&) const override {
    return Fail(ErrorCode::kUnsupported, "codec '{}' is only decoded", name_);
  }

 private:
  // Of up to four axes; those that the field does not have are 0.
  static std::optional<uint64_t> ElementsOf(const zfp_field& field) {
    std::vector<uint64_t> axes;
    for (const size_t axis : {field.nx, field.ny, field.nz, field.nw}) {
      if (axis > 0) axes.push_back(axis);
    }
    return axes.empty() ? std::nullopt : CheckedProduct(axes);
  }

  const std::string name_;
  const zfp_type type_;
};

}  // namespace

Result<std::shared_ptr<const ArrayToBytesCodec>> MakeZfpyCodec(const CodecSpec& codec,
                                                               const ChunkSpec& chunk) {
  const auto type = TypeOf(chunk.data_type);
  if (!type) {
    return Fail(ErrorCode::kUnsupported, "codec '{}': zfp has no data type '{}'", codec.name,
                chunk.data_type.name);
  }
  return std::make_shared<const ZfpyCodec>(codec.name, *type);
}

}  // namespace zarrfs
