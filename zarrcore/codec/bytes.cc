#include <array>
#include <utility>

#include "zarrcore/codec/configuration.h"
#include "zarrcore/codec/registry.h"

namespace zarrfs {
namespace {

class BytesCodec : public ArrayToBytesCodec {
 public:
  explicit BytesCodec(bool big_endian) : big_endian_(big_endian) {}

  std::optional<uint64_t> EncodedSize(const ChunkSpec& spec) const override { return spec.size(); }

  Result<Bytes> Decode(BytesView encoded, const ChunkSpec& spec) const override {
    return DecodeInPlace(Bytes(encoded.begin(), encoded.end()), spec);
  }

  uint64_t MemoryToDecode(uint64_t encoded, const ChunkSpec& /*spec*/) const override {
    return encoded;
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
    const auto checked = CheckSize("bytes", bytes, spec.data_type, spec.shape, wrong_size);
    if (!checked) return Fail(checked);
    if (big_endian_) ReverseByteOrder(bytes, spec.data_type);
    return bytes;
  }

  const bool big_endian_;
};

}  // namespace

Result<ArrayToBytesPtr> MakeBytesCodec(const CodecSpec& codec, const ChunkSpec& chunk) {
  if (chunk.data_type.item_size == 0) {
    return Fail(ErrorCode::kUnsupported, "codec 'bytes': data type '{}' has no known size",
                chunk.data_type.name);
  }
  constexpr std::array<std::string_view, 2> kEndians = {"little", "big"};
  const Result<size_t> endian = ChoiceMember(codec, "endian", kEndians, R"("little" or "big")");
  if (!endian) return Fail(endian);
  return std::make_shared<const BytesCodec>(*endian == 1);
}

}  // namespace zarrfs
