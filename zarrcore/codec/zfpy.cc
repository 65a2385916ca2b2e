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
constexpr size_t kLongestHeader = 64;
// A block of 4^4 values of 8 bytes takes a bit at least.
constexpr uint64_t kBestRatio = 256 * 8 * 8;

struct Free {
  void operator()(bitstream* bits) const { stream_close(bits); }
  void operator()(zfp_stream* stream) const { zfp_stream_close(stream); }
  void operator()(zfp_field* field) const { zfp_field_free(field); }
};

struct Stream {
  explicit Stream(Bytes& bytes)
      : bits(stream_open(bytes.data(), bytes.size())), zfp(zfp_stream_open(bits.get())) {
    if (bits == nullptr || zfp == nullptr) return;
    zfp_stream_rewind(zfp.get());
    field.reset(zfp_field_alloc());
  }
  std::unique_ptr<bitstream, Free> bits;
  std::unique_ptr<zfp_stream, Free> zfp;
  std::unique_ptr<zfp_field, Free> field;  // null if there is no memory
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
    Bytes padded(encoded.begin(), encoded.end());
    padded.resize(encoded.size() + kLongestHeader);
    Stream stream(padded);
    if (!stream.field ||
        zfp_read_header(stream.zfp.get(), stream.field.get(), ZFP_HEADER_FULL) == 0) {
      return Fail(ErrorCode::kDamaged, "codec '{}': {} bytes do not begin with a header", name_,
                  encoded.size());
    }
    if (zfp_field_type(stream.field.get()) != type_ || ElementsOf(*stream.field) != count) {
      return Fail(ErrorCode::kDamaged, "codec '{}': the stream holds something else than {} {}",
                  name_, *count, spec.data_type.name);
    }
    const uint64_t longest = zfp_stream_maximum_size(stream.zfp.get(), stream.field.get());
    if (longest > *size * kMostPadding + kShortest || *size / kBestRatio > encoded.size()) {
      return Fail(ErrorCode::kDamaged, "codec '{}': {} bytes cannot be {} {}", name_,
                  encoded.size(), *count, spec.data_type.name);
    }
    padded.resize(encoded.size() + longest);
    stream = Stream(padded);
    if (!stream.field ||
        zfp_read_header(stream.zfp.get(), stream.field.get(), ZFP_HEADER_FULL) == 0) {
      return Fail(ErrorCode::kIo, "codec '{}': out of memory", name_);
    }
    Bytes decoded(*size);
    zfp_field_set_pointer(stream.field.get(), decoded.data());
    const size_t end = zfp_decompress(stream.zfp.get(), stream.field.get());
    // (The library takes whole words; other builds of it leave shorter ones.)
    constexpr size_t kWord = sizeof(uint64_t);
    if (end == 0 || end > (encoded.size() + kWord - 1) / kWord * kWord) {
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
