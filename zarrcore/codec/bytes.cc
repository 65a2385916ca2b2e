#include "zarrcore/codec/bytes.h"

#include <utility>

#include "zarrcore/base/checked.h"
#include "zarrcore/codec/configuration.h"

namespace zarrfs {
namespace {

class BytesCodec : public ArrayToBytesCodec {
 public:
  explicit BytesCodec(bool big_endian) : big_endian_(big_endian) {}

  std::optional<uint64_t> EncodedSize(const ChunkSpec& spec) const override {
    const std::optional<uint64_t> elements = CheckedProduct(spec.shape);
    if (!elements) return std::nullopt;
    return CheckedMul(*elements, spec.data_type.item_size);
  }

  Result<Bytes> Decode(BytesView encoded, const ChunkSpec& spec) const override {
    return DecodeInPlace(Bytes(encoded.begin(), encoded.end()), spec);
  }

  Result<Bytes> DecodeInPlace(Bytes encoded, const ChunkSpec& spec) const override {
    return Reorder(std::move(encoded), spec, ErrorCode::kDamaged);
  }

  Result<Bytes> Encode(BytesView decoded, const ChunkSpec& spec) const override {
    return Reorder(Bytes(decoded.begin(), decoded.end()), spec, ErrorCode::kInvalidArgument);
  }

 private:
  // Its own inverse.
  Result<Bytes> Reorder(Bytes bytes, const ChunkSpec& spec, ErrorCode wrong_size) const {
    const std::optional<uint64_t> size = EncodedSize(spec);
    if (!size) return Fail(ErrorCode::kTooLarge, "codec 'bytes': size of a chunk overflows");
    if (bytes.size() != *size) {
      return Fail(wrong_size, "codec 'bytes': expected {} bytes, found {}", *size, bytes.size());
    }
    if (big_endian_) ReverseByteOrder(bytes, spec.data_type);
    return bytes;
  }

  const bool big_endian_;
};

}  // namespace

Result<std::shared_ptr<const ArrayToBytesCodec>> MakeBytesCodec(const CodecSpec& codec,
                                                                const ChunkSpec& chunk) {
  if (chunk.data_type.item_size == 0) {
    return Fail(ErrorCode::kUnsupported, "codec 'bytes': data type '{}' has no known size",
                chunk.data_type.name);
  }
  const Result<std::string> endian = StringMember(codec, "endian", "little");
  if (!endian) return Fail(endian);
  if (*endian != "little" && *endian != "big") {
    return WrongMember(codec, "endian", R"("little" or "big")");
  }
  return std::make_shared<const BytesCodec>(*endian == "big");
}

}  // namespace zarrfs
