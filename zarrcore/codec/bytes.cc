#include <array>
#include <utility>

#include "zarrcore/codec/configuration.h"
#include "zarrcore/codec/registry.h"

namespace zarrfs {
namespace {

class BytesCodec : public ArrayToBytesCodec {
 public:
  // `runs`: the byte ranges of a struct that are big-endian, if only some parts of the struct are;
  // otherwise empty.
  explicit BytesCodec(bool big_endian, std::vector<ByteRun> runs = {})
      : big_endian_(big_endian), runs_(std::move(runs)) {}

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
  // Decodes or encodes `bytes`. Both directions reverse the bytes of the big-endian items.
  Result<Bytes> Reorder(Bytes bytes, const ChunkSpec& spec, ErrorCode wrong_size) const {
    const auto checked = CheckSize("bytes", bytes, spec.data_type, spec.shape, wrong_size);
    if (!checked) return Fail(checked);
    if (big_endian_) ReverseByteOrder(bytes, spec.data_type);
    if (!runs_.empty()) ReverseByteOrder(bytes, spec.data_type, runs_);
    return bytes;
  }

  const bool big_endian_;
  const std::vector<ByteRun> runs_;
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

Result<ArrayToBytesPtr> MakeMixedEndianCodec(const CodecSpec& codec, const ChunkSpec& chunk) {
  const DataType& type = chunk.data_type;
  const Json* const given = FindMember(codec, "big");
  const auto wrong = [&] {
    return WrongMember(codec, "big", "ranges of bytes in a struct, in their order");
  };
  if (type.kind != DataKind::kStruct || given == nullptr || !given->is_array()) return wrong();
  std::vector<ByteRun> runs;
  for (const Json& range : *given) {
    if (!range.is_array() || range.size() != 2) return wrong();
    const auto first = ParseInteger(range[0], 64, /*is_signed=*/false);
    const auto end = ParseInteger(range[1], 64, /*is_signed=*/false);
    const uint64_t before = runs.empty() ? 0 : runs.back().end;
    if (!first || !end || *first < before || *end <= *first || *end > type.item_size) {
      return wrong();
    }
    runs.push_back({*first, *end});
  }
  return std::make_shared<const BytesCodec>(false, std::move(runs));
}

}  // namespace zarrfs
